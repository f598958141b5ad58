package temporal
import ("testing";"fmt";"sort";"time"
 enumspb "go.temporal.io/api/enums/v1")
func BenchmarkZZ(b *testing.B) {
	d, h := beginBench(b)
	for range 50 { h.turn(b, d, "a"); time.Sleep(5*time.Millisecond) }
	it := d.live.Load().client.GetWorkflowHistory(b.Context(), "session/a", "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	c := map[string]int{}; n := 0; size := 0
	for it.HasNext() { e, err := it.Next(); if err != nil { b.Fatal(err) }; c[e.GetEventType().String()]++; n++; size += len(e.String()); if n<40 { fmt.Println(e.GetEventId(), e.GetEventType(), e.GetEventTime().AsTime().Format("05.0000"), e.GetAttributes()) } }
	var ks []string
	for k := range c { ks = append(ks, k) }
	sort.Strings(ks)
	for _, k := range ks { fmt.Println(k, float64(c[k])/50) }
	for b.Loop() {}
}
