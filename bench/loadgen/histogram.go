package main

import (
	"math/bits"
	"time"
)

// Each power of two of nanoseconds is cut into so many parts: 1.6 % wide.
const parts = 64

// Histogram counts durations in buckets that grow with them.
type Histogram struct {
	buckets [64 * parts]int64
	count   int64
	total   int64
	max     int64
}

func (h *Histogram) add(d time.Duration) {
	n := int64(d)
	if n < 1 {
		n = 1
	}
	h.buckets[bucket(uint64(n))]++
	h.count++
	h.total += n
	if n > h.max {
		h.max = n
	}
}

func bucket(n uint64) int {
	power := bits.Len64(n) - 1
	if power < 6 {
		return int(n)
	}
	return (power-5)*parts + int(n>>(power-6)) - parts
}

// highest is the largest duration of a bucket, in nanoseconds.
func highest(index int) float64 {
	if index < parts {
		return float64(index)
	}
	power := index/parts + 5
	return float64(uint64(index%parts+parts+1)<<(power-6)) - 1
}

func (h *Histogram) merge(other *Histogram) {
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
	h.count += other.count
	h.total += other.total
	if other.max > h.max {
		h.max = other.max
	}
}

func (h *Histogram) average() float64 {
	if h.count == 0 {
		return 0
	}
	return float64(h.total) / float64(h.count) / 1e6
}

// quantile gives milliseconds.
func (h *Histogram) quantile(q float64) float64 {
	wanted := int64(q*float64(h.count) + 0.5)
	for i, n := range h.buckets {
		wanted -= n
		if n > 0 && wanted <= 0 {
			value := highest(i)
			if value > float64(h.max) {
				value = float64(h.max)
			}
			return value / 1e6
		}
	}
	return 0
}
