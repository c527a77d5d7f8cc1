struct dim3 {};  // as in the lab's own header: g++ would refuse a second one
