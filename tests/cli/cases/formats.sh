# Tables and arrays as data, and augmentation.
"$PYTHON" - <<'END'
import pathlib, struct
table = pathlib.Path("table")
table.mkdir()
for name, count in (("train", 40), ("test", 10)):
    rows = [[(i * 37 + k * k * 11 + 90 * (k // 4 == i % 4)) % 256 for k in range(16)] + [i % 4] for i in range(count)]
    text = ",".join([f"p{k}" for k in range(16)] + ["label"]) + "\n" + "".join(",".join(map(str, r)) + "\n" for r in rows)
    (table / f"{name}.csv").write_text(text)
    prefix = "" if name == "train" else "test_"
    for part, shape, data in (("images", f"({count}, 4, 4)", bytes(v for r in rows for v in r[:16])),
                              ("labels", f"({count},)", bytes(r[16] for r in rows))):
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        (table / f"{prefix}{part}.npy").write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + header.encode() + data)
END
run 2 plan tiny.yaml --set "data={format: csv, path: table}"
run 2 plan tiny.yaml --set "data={format: csv, path: table, shape: [1, 4, 5]}"
run 2 plan tiny.yaml --set "data={format: npy, path: table, shape: [1, 2, 8]}"
run 2 plan tiny.yaml --set "data={format: jpeg, path: table}"
run 2 plan tiny.yaml --set "data={format: cifar10, path: table}"
run 0 train tiny.yaml --set "data={format: csv, path: table, shape: [1, 4, 4]}" --run csv --nonce $NONCE
run 0 eval csv
run 0 train tiny.yaml --set "data={format: npy, path: table}" --run npy --nonce $NONCE
run 0 eval npy
# With augmentation: another state, which another platform gets, too.
run 0 train tiny.yaml --set "data={format: npy, path: table, augment: [crop, flip]}" --run changed --nonce $NONCE
run 0 audit changed --platform naive --threads 1
run 0 eval changed
run 2 plan tiny.yaml --set "data.augment=[flip, crop]"
run 2 plan tiny.yaml --set "data.mean=[1, 2, 3]"
