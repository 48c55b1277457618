keys 2 "error status exit" trian
keys 2 "error status exit" train tiny.yaml --platfrom naive
keys 2 "error status exit" plan nowhere.yaml
keys 2 "error status exit" verify nowhere
keys 0 "version specification error" --version
keys 0 "commands error" help
keys 0 "command operands options error" help verify
