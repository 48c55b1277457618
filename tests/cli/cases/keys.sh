# Keys, an order that names its trainer, a signed run and statements about its weights.
run 0 keygen -o client.pem
run 2 keygen -o client.pem
run 2 keygen
openssl genpkey -algorithm ED25519 -out trainer.pem
openssl pkey -in trainer.pem -pubout -out trainer.pub
cp client.pem.pub client.pub
run 0 plan tiny.yaml --trainer trainer.pub --referee client.pub -o job.bin
run 0 sign job.bin --key client.pem
openssl pkeyutl -verify -rawin -pubin -inkey client.pub -in job.bin -sigfile job.bin.sig
run 0 verify job.bin --key client.pub
run 1 verify job.bin --key trainer.pub
run 2 verify job.bin
run 2 sign tiny.yaml --key client.pem
# The trainer that the order names, and no other.
run 2 train tiny.yaml --run run --job job.bin --nonce $NONCE
run 2 train tiny.yaml --run run --job job.bin --nonce $NONCE --key client.pem
run 2 train tiny.yaml --run run --job job.bin --nonce $NONCE --key trainer.pem --set train.seed=2
run 0 train tiny.yaml --run run --job job.bin --nonce $NONCE --key trainer.pem
run 0 verify run --key trainer.pub
run 1 verify run --key client.pub
run 0 verify run/heads/7 --key trainer.pub
run 1 verify run/heads/7 --key client.pub
run 2 train tiny.yaml --run run --resume
cp -r run unsigned
other64 unsigned/heads/7 -9
run 1 verify unsigned
# Statements.
run 0 export run -o model.safetensors --key trainer.pem --attest trained.json
run 0 verify trained.json --key trainer.pub --subject model.safetensors
run 1 verify trained.json --key trainer.pub --subject job.bin
run 1 verify trained.json --key client.pub
run 2 audit run -o audited.json
run 0 audit run --key client.pem -o audited.json --keep kept
run 0 verify audited.json --key client.pub --subject model.safetensors
run 0 verify kept --key client.pub
run 0 diff run kept
