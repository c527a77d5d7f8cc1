# The symptom and the questions of an .exercise file, as Markdown: a bug's page begins with them.
/^[a-z]+:/ { shown = /^(symptom|question):/; indent = /^question:/ ? ++count ". " : ""; next }
shown { sub(/^  /, indent); if (NF && indent) indent = "   "; print }
