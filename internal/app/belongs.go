package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/standard"
	"github.com/cadre-dev/cadre/internal/store"
)

// storeFile remembers which database elsewhere a data folder belongs to, so that a start
// without the variable that names it does not begin an empty one in the folder. It never
// overrules the variable.
const storeFile = "store.json"

// belonging is its content. It holds no address that a log-in could be made with.
type belonging struct {
	Store    string `json:"store"`    // the driver's name
	Database string `json:"database"` // the database's id
	Place    string `json:"place"`    // what people call it
}

// intact refuses a folder that belongs to a database elsewhere which is not the one that is
// asked for, and one into which a restore was interrupted.
func intact(dir string, driver standard.StoreDriver) error {
	if err := belongs(dir, driver); err != nil {
		return err
	}
	return backup.Interrupted(dir)
}

// belongs refuses a database of the folder's own where the folder belongs to one elsewhere.
func belongs(dir string, driver standard.StoreDriver) error {
	if driver.Files == nil {
		return nil
	}
	path := filepath.Join(dir, storeFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err != nil && !folder(dir) {
		return nil
	}
	var b belonging
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	if err != nil {
		return fault.New(fault.FailedPrecondition, "STORE_FILE_DAMAGED",
			"%s, which says that this folder belongs to a PostgreSQL database, cannot be read: set CADRE_DATABASE_URL to that database, or remove the file to use a database in the folder", path).Because(err)
	}
	return fault.New(fault.FailedPrecondition, "STORE_ELSEWHERE",
		"the data folder %s belongs to the PostgreSQL %s, and CADRE_DATABASE_URL is not set: set it, or remove %s to use a database in the folder", dir, b.Place, path)
}

// folder says whether something is a folder.
func folder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// remember notes which database elsewhere the folder belongs to now. It answers what a
// person should know when that is another one than before, "" when it is not.
func remember(ctx context.Context, dir string, driver standard.StoreDriver, s store.Store) (told string, err error) {
	if driver.Files != nil {
		return "", nil
	}
	database, err := s.BootState(ctx, "database_id")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, storeFile)
	var before belonging
	if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &before) == nil && before.Database != "" && before.Database != database {
		told = fmt.Sprintf("this data folder belonged to another database (%s, %s) and works on the one that CADRE_DATABASE_URL names from now on (%s, %s); what the first one has is not in it",
			before.Place, before.Database, placeOf(driver), database)
	}
	data, err := json.MarshalIndent(belonging{driver.Name, database, placeOf(driver)}, "", "  ")
	if err != nil {
		return "", err
	}
	return told, config.Replace(path, append(data, '\n'))
}

// placeOf is what people call a database elsewhere; "" of one in the data folder.
func placeOf(driver standard.StoreDriver) string {
	if driver.Place == nil {
		return ""
	}
	return driver.Place(os.Getenv)
}

// note tells the person who starts the server something, when there is something to tell.
func (a *App) note(text string) {
	if text != "" && a.opt.Note != nil {
		a.opt.Note(text)
	}
}
