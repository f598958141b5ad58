package telemetry

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// Metrics are the measurements of one server. Make them with NewMetrics.
type Metrics struct {
	provider *sdk.MeterProvider
	handler  http.Handler
}

// NewMetrics makes a place for measurements that answers them as Prometheus text.
func NewMetrics() (*Metrics, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("open the measurements: %w", err)
	}
	return &Metrics{
		provider: sdk.NewMeterProvider(sdk.WithReader(reader)),
		handler:  promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	}, nil
}

// Meters is where parts of the server measure.
func (m *Metrics) Meters() metric.MeterProvider { return m.provider }

// Handler answers all measurements as text.
func (m *Metrics) Handler() http.Handler { return m.handler }

// Close ends the measurements.
func (m *Metrics) Close(ctx context.Context) error { return m.provider.Shutdown(ctx) }
