package temporal

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

const (
	loopback    = "127.0.0.1"
	clusterName = "cadre"

	// shards is fixed in the files; a change needs another layout. One connection
	// writes them all, so that more would only take memory.
	shards = 1

	// unlimited stands for "no limit that we can reach" in rates per second.
	unlimited = 100_000
)

// opened numbers the starts of this process. The SQLite plugin keeps a connection
// for each distinct address until the process ends, also over a file that was
// moved away; the number, as a part of a harmless pragma, makes each start open
// its own.
var opened atomic.Int64

// ports are where the services listen. The frontend has an interface of its own
// choice, all others the loopback interface.
type ports struct {
	frontend string // an IP address
	numbers  map[primitives.ServiceName]int
}

// services are what we run. The server's own workers are left out: they scan,
// archive, replicate and schedule, of which a cache of wake-ups needs nothing.
var services = []primitives.ServiceName{
	primitives.FrontendService, primitives.HistoryService, primitives.MatchingService,
}

func (p ports) address(s primitives.ServiceName) string {
	return net.JoinHostPort(p.ip(s), strconv.Itoa(p.numbers[s]))
}

func (p ports) ip(s primitives.ServiceName) string {
	if s == primitives.FrontendService {
		return p.frontend
	}
	return loopback
}

// hosts tells the services where they are, so that no membership protocol runs.
func (p ports) hosts() map[primitives.ServiceName]static.Hosts {
	hosts := map[primitives.ServiceName]static.Hosts{}
	for _, s := range services {
		hosts[s] = static.SingleLocalHost(p.address(s))
	}
	hosts[primitives.WorkerService] = static.Hosts{All: []string{p.address(primitives.FrontendService)}} // demanded, never called
	return hosts
}

// database is one SQLite file. These settings are measured: without them every
// commit waits for the disk.
func database(path string, boot int64) *config.SQL {
	return &config.SQL{
		PluginName:   sqlite.PluginName,
		DatabaseName: escaped(path),
		ConnectAttributes: map[string]string{
			"journal_mode": "wal",
			"synchronous":  "normal",
			"busy_timeout": strconv.FormatInt(10_000+boot, 10),
		},
		MaxConns:     1,
		MaxIdleConns: 1,
	}
}

// serverConfig is the static configuration of the embedded server.
func serverConfig(path string, p ports) *config.Config {
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     "main",
			VisibilityStore:  visibilityName,
			NumHistoryShards: shards,
			DataStores: map[string]config.DataStore{
				"main":         {SQL: database(path, opened.Add(1))},
				visibilityName: {CustomDataStoreConfig: &config.CustomDatastoreConfig{Name: visibilityName, IndexName: visibilityName}},
			},
		},
		ClusterMetadata:     onlyCluster(),
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
		}},
		PublicClient: config.PublicClient{HostPort: p.address(primitives.FrontendService)},
		Services:     map[string]config.Service{},
	}
	for _, s := range services {
		c.Services[string(s)] = config.Service{RPC: config.RPC{GRPCPort: p.numbers[s], BindOnIP: p.ip(s)}}
	}
	return c
}

// onlyCluster says that there are no others. The address is kept in the files and
// only others would use it.
func onlyCluster() *cluster.Config {
	return &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{
			clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: loopback + ":0"},
		},
	}
}

// dynamicSettings are the settings that differ from the server's defaults.
func dynamicSettings() dynamicconfig.StaticClient {
	const workers = 16
	return dynamicconfig.StaticClient{
		// Each hop of a task waits for its queue to be polled: 50 ms by default.
		dynamicconfig.TransferProcessorMaxPollRPS.Key():       unlimited,
		dynamicconfig.TransferProcessorMaxPollHostRPS.Key():   unlimited,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():          unlimited,
		dynamicconfig.TimerProcessorMaxPollHostRPS.Key():      unlimited,
		dynamicconfig.VisibilityProcessorMaxPollHostRPS.Key(): unlimited,

		// The clock of one machine needs no allowance: 1 s by default, for each timer.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): 5 * time.Millisecond,

		// One process needs no partitions to spread over.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

		// The only client is this process; quotas would only delay it.
		dynamicconfig.FrontendRPS.Key():                                  unlimited,
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():           unlimited,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): unlimited,
		dynamicconfig.HistoryRPS.Key():                                   unlimited,
		dynamicconfig.MatchingRPS.Key():                                  unlimited,
		dynamicconfig.FrontendPersistenceMaxQPS.Key():                    unlimited,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():                     unlimited,
		dynamicconfig.MatchingPersistenceMaxQPS.Key():                    unlimited,

		// One connection to the files: more goroutines would only queue for it.
		dynamicconfig.TransferProcessorSchedulerWorkerCount.Key():    workers,
		dynamicconfig.TimerProcessorSchedulerWorkerCount.Key():       workers,
		dynamicconfig.VisibilityProcessorSchedulerWorkerCount.Key():  workers,
		dynamicconfig.MemoryTimerProcessorSchedulerWorkerCount.Key(): workers,

		// Nothing of this changes while we run, and nobody is to be told about us. Zero
		// would not disable the first two intervals of matching but make them spin.
		dynamicconfig.NamespaceCacheRefreshInterval.Key():         time.Minute,
		dynamicconfig.MatchingNexusEndpointsRefreshInterval.Key(): 10 * time.Minute,
		dynamicconfig.MatchingEphemeralDataUpdateInterval.Key():   time.Minute,
		dynamicconfig.MatchingBacklogMetricsEmitInterval.Key():    time.Hour,
		dynamicconfig.EnableServerVersionCheck.Key():              false,
		dynamicconfig.DeadlockDumpGoroutines.Key():                false,
	}
}

// createFile makes the file with its schema and the namespace. Histories of closed
// runs are of use to nobody but a person who looks for a fault: a day.
func createFile(path, namespace string) error {
	c := database(path, opened.Add(1))
	if err := sqliteschema.SetupSchema(c); err != nil {
		return fmt.Errorf("engine: make the file: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("engine: protect the file: %w", err)
	}
	return makeNamespace(c, namespace)
}

// makeNamespace makes a namespace in a file that no server uses, when it is missing.
func makeNamespace(c *config.SQL, name string) error {
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, name, false, nil)
	if err != nil {
		return fmt.Errorf("engine: describe the namespace: %w", err)
	}
	if err := sqliteschema.CreateNamespaces(c, ns); err != nil {
		return fmt.Errorf("engine: make the namespace: %w", err)
	}
	return nil
}
