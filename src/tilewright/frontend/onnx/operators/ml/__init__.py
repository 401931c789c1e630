"""Classical machine learning (domain ai.onnx.ml): encoders, features, linear models, support vector machines, trees."""
