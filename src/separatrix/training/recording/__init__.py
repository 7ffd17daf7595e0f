"""What is recorded after every epoch, and the callbacks that receive it."""
