package main

import "testing"

func TestPlacesOfAnAnswer(t *testing.T) {
	header := []byte(`{"extFields":{"startOffsetInfo":"0 2 5;0 1 0","msgOffsetInfo":"0 2 5,6,9;0 1 0","popTime":"7"}}`)
	found, err := places(header)
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	first := found[0]
	if first.kind != "0" || first.queue != "2" || first.start != "5" || len(first.offsets) != 3 || first.offsets[2] != "9" {
		t.Fatal(first)
	}
	if _, err := places([]byte(`{"extFields":{}}`)); err == nil {
		t.Fatal("an answer without places was taken")
	}
}

func TestRecordsFillABody(t *testing.T) {
	body := append([]byte{0, 0, 0, 5, 1}, 0, 0, 0, 4)
	if count := recordsIn(body); count != 2 {
		t.Fatal(count)
	}
	if count := recordsIn(body[:8]); count != -1 {
		t.Fatal(count)
	}
}
