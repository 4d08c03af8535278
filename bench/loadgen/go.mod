module trimq/loadgen

go 1.19
