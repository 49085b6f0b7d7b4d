"""What running a kernel's intermediate language records: loops, conditions and equations."""
