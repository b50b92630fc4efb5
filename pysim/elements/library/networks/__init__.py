"""Networks as controllers and actuators: policies of environments, files of ONNX and of other libraries."""
