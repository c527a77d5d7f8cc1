# Lines of the solution (pass=3) that a text (pass=2) holds, and what is handed out (pass=1) does not: they give the answer away.
pass == 1 { handed = handed squeezed(strip($0)) }
pass == 2 { told = told squeezed($0) }
pass == 3 { line = squeezed(strip($0)); if (length(line) >= 12 && !index(handed, line) && index(told, line)) print "a text holds a line of the solution: " $0 }
