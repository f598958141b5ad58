package docker

import (
	"strconv"

	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// The labels of containers and volumes. They tell whose a thing is, and hold no secret.
const (
	labelManager = "cadre.dev/managed-by"
	labelOwner   = "cadre.dev/owner" // the installation
	labelScope   = "cadre.dev/scope"
	labelID      = "cadre.dev/sandbox-id"
	labelRole    = "cadre.dev/role"  // sandbox, or prepare of a container that never runs
	labelEpoch   = "cadre.dev/epoch" // of containers: milliseconds, raised by each start
	labelImage   = "cadre.dev/image" // the name that was configured when the image was chosen
	labelImageID = "cadre.dev/image-id"
	labelPolicy  = "cadre.dev/image-policy"
	labelForm    = "cadre.dev/form" // a digest of all else that a container is made of
	labelDriver  = "cadre.dev/driver-version"
)

const (
	manager     = "cadre-server"
	version     = "1" // of the driver: raised when what it makes changes
	roleSandbox = "sandbox"
	rolePrepare = "prepare"
	// policy: a re-pin of the image counts for new sandboxes only.
	policy = "new_creates_only"
)

// owned are the labels of all that belongs to a sandbox.
func (d *driver) owned(k sandbox.Key) map[string]string {
	return map[string]string{
		labelManager: manager, labelOwner: d.owner, labelScope: string(k.Scope), labelID: k.ID, labelDriver: version,
	}
}

// mine tells whether labels are of this sandbox.
func (d *driver) mine(k sandbox.Key, labels map[string]string) bool {
	return labels[labelManager] == manager && labels[labelOwner] == d.owner && keyOf(labels) == k
}

func keyOf(labels map[string]string) sandbox.Key {
	return sandbox.Key{Scope: sandbox.Scope(labels[labelScope]), ID: labels[labelID]}
}

func epochOf(labels map[string]string) int64 {
	n, _ := strconv.ParseInt(labels[labelEpoch], 10, 64)
	return n
}

// all asks for everything of this installation.
func (d *driver) all() client.Filters {
	return client.Filters{}.Add("label", labelManager+"="+manager, labelOwner+"="+d.owner)
}

// of asks for everything of one sandbox.
func (d *driver) of(k sandbox.Key) client.Filters {
	return d.all().Add("label", labelScope+"="+string(k.Scope), labelID+"="+k.ID)
}
