"""Published test methods, each as a pure function to a plan and a pure function to a result."""
