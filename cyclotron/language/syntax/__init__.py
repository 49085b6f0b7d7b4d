"""Python source to the intermediate language."""
