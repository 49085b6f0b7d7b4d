"""From a kernel's text to the intermediate language: syntax trees, names, statements."""
