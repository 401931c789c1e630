"""Mathematics: functions of elements with broadcasting, and products of tensors."""
