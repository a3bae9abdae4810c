// The older Go client, Azure/azure-sdk-for-go/storage, against `entitable serve`. It signs with SharedKey or, if told so,
// SharedKeyLite: each check runs with both. The output is that of ../checks.py.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/storage"
	"github.com/gofrs/uuid"
)

const timeout = 10 // seconds

// A check's table, and what it found wrong.
type check struct {
	service *storage.TableServiceClient
	table   *storage.Table
}

func main() {
	checks := []struct {
		name string
		run  func(check)
	}{
		{"tables are created, listed and deleted", tables},
		{"entities keep every type", types},
		{"entities are found by odd keys", oddKeys},
		{"entities are merged, replaced and upserted", changes},
		{"entities change on condition", conditions},
		{"queries filter, select and take so many", queries},
		{"queries come in pages over partitions", pages},
		{"batches do every operation", batches},
		{"batches fail as one", failingBatches},
		{"policies are stored", policies},
		{"shared access to the account", sharedAccess},
		{"the service keeps its properties", properties},
	}
	print(map[string]int{"checks": 2 * len(checks)})
	for _, scheme := range []string{"SharedKey", "SharedKeyLite"} {
		for number, each := range checks {
			service := newClient(scheme).GetTableService()
			table := service.GetTableReference(fmt.Sprintf("%s%d", scheme, number))
			report(scheme+": "+each.name, func() {
				must(table.Create(timeout, storage.EmptyPayload, nil))
				each.run(check{&service, table})
				must(table.Delete(timeout, nil))
			})
		}
	}
}

func print(line interface{}) {
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func report(name string, run func()) {
	var failure interface{}
	func() {
		defer func() { failure = recover() }()
		run()
	}()
	if failure != nil {
		failure = fmt.Sprint(failure)
	}
	print(map[string]interface{}{"name": name, "error": failure})
}

// The account as in production, by the name of its host; whatever the name, the server is where it is.
func newClient(scheme string) storage.Client {
	account, err := url.Parse(os.Getenv("ENTITABLE_URL"))
	must(err)
	base := "core.windows.net:" + account.Port()
	name, key := os.Getenv("ENTITABLE_ACCOUNT"), os.Getenv("ENTITABLE_KEY")
	client, err := storage.NewClient(name, key, base, storage.DefaultAPIVersion, false)
	must(err)
	client.UseSharedKeyLite = scheme == "SharedKeyLite"
	redirect(&client, account.Host)
	return client
}

func redirect(client *storage.Client, address string) {
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	client.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: dial}}
	client.Sender = &storage.DefaultSender{RetryAttempts: 1}
}

// ---- What a check says ---------------------------------------------------------------------------------------------

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(actual, expected interface{}) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Sprintf("%#v is not %#v", actual, expected))
	}
}

// By the text, as some methods wrap the service's error into another.
func refused(err error, status int, code string) {
	expected := fmt.Sprintf("StatusCode=%d, ErrorCode=%s,", status, code)
	if err == nil || !strings.Contains(err.Error(), expected) {
		panic(fmt.Sprintf("not %s: %v", expected, err))
	}
}

func (c check) entity(partition, row string, properties map[string]interface{}) *storage.Entity {
	entity := c.table.GetEntityReference(partition, row)
	entity.Properties = properties
	return entity
}

func (c check) insert(partition, row string, properties map[string]interface{}) *storage.Entity {
	entity := c.entity(partition, row, properties)
	must(entity.Insert(storage.FullMetadata, nil)) // with an empty payload the client forgets the ETag
	return entity
}

func (c check) get(partition, row string) *storage.Entity {
	entity := c.table.GetEntityReference(partition, row)
	must(entity.Get(timeout, storage.FullMetadata, nil))
	return entity
}

func (c check) rows(options *storage.QueryOptions) []string {
	found, err := c.table.QueryEntities(timeout, storage.FullMetadata, options)
	must(err)
	return rowKeys(found)
}

func rowKeys(found *storage.EntityQueryResult) []string {
	keys := []string{}
	for _, entity := range found.Entities {
		keys = append(keys, entity.RowKey)
	}
	return keys
}

// ---- The checks ----------------------------------------------------------------------------------------------------

type values = map[string]interface{}

func tables(c check) {
	refused(c.table.Create(timeout, storage.EmptyPayload, nil), 409, "TableAlreadyExists")
	must(c.table.Get(timeout, storage.FullMetadata))
	absent := c.service.GetTableReference("absent")
	refused(absent.Delete(timeout, nil), 404, "ResourceNotFound")
	other := c.service.GetTableReference(c.table.Name + "b")
	must(other.Create(timeout, storage.FullMetadata, nil))
	filter := fmt.Sprintf("TableName ge '%s' and TableName le '%s'", c.table.Name, other.Name)
	options := &storage.QueryTablesOptions{Top: 1, Filter: filter}
	found, err := c.service.QueryTables(storage.MinimalMetadata, options)
	must(err)
	names := []string{}
	for {
		for _, table := range found.Tables {
			names = append(names, table.Name)
		}
		if found.NextLink == nil {
			break
		}
		found, err = found.NextResults(nil)
		must(err)
	}
	equal(names, []string{c.table.Name, other.Name})
	must(other.Delete(timeout, nil))
}

func types(c check) {
	written := values{
		"string":   "it's \"so\" – ü 😀\t<&>",
		"empty":    "",
		"int64":    int64(1<<63 - 1),
		"whole":    3.0,
		"fraction": -0.1,
		"large":    1.7976931348623157e308,
		"yes":      true,
		"no":       false,
		"guid":     uuid.FromStringOrNil("c9da6455-213d-42c9-9a79-3e9149a57833"),
		"when":     time.Date(2016, 2, 29, 23, 59, 59, 0, time.UTC),
		"bytes":    []byte{0, 1, 254, 255},
	}
	inserted := c.insert("p", "r", written)
	read := c.get("p", "r")
	for name, value := range written {
		equal(read.Properties[name], value)
	}
	equal(len(read.Properties), len(written))
	equal(read.OdataEtag, inserted.OdataEtag)
	c.insert("p", "whole", values{"int32": 5})
	equal(c.get("p", "whole").Properties["int32"], 5.0) // what Go makes of a number without a type
}

func oddKeys(c check) {
	for _, key := range []string{"a b", "100%", "%41", "a+b&c=d", "ü ß 中 😀", "(1,2)", "~!@$^*;:,."} {
		c.insert(key, key, values{"key": key})
		equal(c.get(key, key).Properties["key"], key)
		equal(c.rows(&storage.QueryOptions{Filter: "RowKey eq '" + key + "'"}), []string{key})
		must(c.entity(key, key, nil).Delete(true, nil))
	}
	c.insert("o'neil", "it's", values{"found": true})
	doubled := c.table.GetEntityReference("o''neil", "it''s") // the client leaves that to its user
	must(doubled.Get(timeout, storage.FullMetadata, nil))
	equal(doubled.Properties, values{"found": true})
}

func changes(c check) {
	c.insert("p", "r", values{"a": "1", "b": "1"})
	must(c.entity("p", "r", values{"b": "2"}).Merge(true, nil))
	equal(c.get("p", "r").Properties, values{"a": "1", "b": "2"})
	must(c.entity("p", "r", values{"c": "3"}).Update(true, nil))
	equal(c.get("p", "r").Properties, values{"c": "3"})
	must(c.entity("p", "r", values{"d": "4"}).InsertOrMerge(nil))
	equal(c.get("p", "r").Properties, values{"c": "3", "d": "4"})
	must(c.entity("p", "r", values{"e": "5"}).InsertOrReplace(nil))
	equal(c.get("p", "r").Properties, values{"e": "5"})
	refused(c.entity("p", "r", nil).Insert(storage.EmptyPayload, nil), 409, "EntityAlreadyExists")
	refused(c.entity("p", "absent", nil).Update(true, nil), 404, "ResourceNotFound")
	refused(c.entity("p", "absent", nil).Delete(true, nil), 404, "ResourceNotFound")
	refused(c.entity("p", "a/b", nil).Insert(storage.EmptyPayload, nil), 400, "OutOfRangeInput")
}

func conditions(c check) {
	first := c.insert("p", "r", values{"a": "1"})
	second := c.get("p", "r")
	must(second.Merge(false, nil))
	refused(first.Update(false, nil), 412, "UpdateConditionNotSatisfied")
	refused(first.Merge(false, nil), 412, "UpdateConditionNotSatisfied")
	refused(first.Delete(false, nil), 412, "UpdateConditionNotSatisfied")
	must(second.Delete(false, nil))
	equal(c.rows(nil), []string{})
}

func queries(c check) {
	c.insert("p", "1", values{"s": "it's", "l": int64(1) << 32, "d": 2.5, "b": true})
	c.insert("p", "2", values{"s": "other"})
	for _, filter := range []string{"s eq 'it''s'", "l ge 4294967296L", "d lt 2.75", "b eq true", "not (s eq 'other')"} {
		equal(c.rows(&storage.QueryOptions{Filter: filter}), []string{"1"})
	}
	found, err := c.table.QueryEntities(timeout, storage.FullMetadata, &storage.QueryOptions{Top: 1, Select: []string{"s"}})
	must(err)
	equal(found.Entities[0].Properties, values{"s": "it's"})
	equal(found.NextLink != nil, true)
	_, err = c.table.QueryEntities(timeout, storage.FullMetadata, &storage.QueryOptions{Filter: "s eq"})
	refused(err, 400, "InvalidInput")
}

func pages(c check) {
	for partition := 'a'; partition <= 'l'; partition++ {
		batch := c.table.NewBatch()
		for row := 0; row < 100; row++ {
			batch.InsertEntity(c.entity(string(partition)+" é", fmt.Sprintf("%c%03d", partition, row), nil))
		}
		must(batch.ExecuteBatch())
	}
	found, err := c.table.QueryEntities(timeout, storage.FullMetadata, nil)
	must(err)
	sizes, last := []int{}, ""
	for {
		sizes = append(sizes, len(found.Entities))
		for _, key := range rowKeys(found) {
			equal(last < key, true)
			last = key
		}
		if found.NextLink == nil {
			break
		}
		found, err = found.NextResults(nil)
		must(err)
	}
	equal(sizes, []int{1000, 200})
}

func batches(c check) {
	for _, row := range []string{"merged", "replaced", "deleted"} {
		c.insert("p", row, values{"a": "1", "b": "ü"})
	}
	batch := c.table.NewBatch()
	batch.InsertEntity(c.entity("p", "inserted", values{"s": "😀 \r\n--batch", "d": 2.0}))
	merged := c.get("p", "merged")
	merged.Properties = values{"a": "2"}
	batch.MergeEntity(merged)
	replaced := c.get("p", "replaced")
	replaced.Properties = values{"a": "2"}
	batch.ReplaceEntity(replaced)
	batch.DeleteEntityByForce(c.entity("p", "deleted", nil), true)
	batch.InsertOrMergeEntityByForce(c.entity("p", "upserted", nil))
	batch.InsertOrReplaceEntityByForce(c.entity("p", "put", nil))
	must(batch.ExecuteBatch())
	equal(c.rows(nil), []string{"inserted", "merged", "put", "replaced", "upserted"})
	equal(c.get("p", "inserted").Properties, values{"s": "😀 \r\n--batch", "d": 2.0})
	equal(c.get("p", "merged").Properties, values{"a": "2", "b": "ü"})
	equal(c.get("p", "replaced").Properties, values{"a": "2"})
}

func failingBatches(c check) {
	c.insert("p", "there", nil)
	batch := c.table.NewBatch()
	batch.InsertEntity(c.entity("p", "new", nil))
	batch.InsertEntity(c.entity("p", "there", nil))
	err := batch.ExecuteBatch()
	failure, ok := err.(storage.AzureStorageServiceError)
	equal(ok, true)
	equal(failure.Code, "EntityAlreadyExists")
	equal(strings.HasPrefix(failure.Message, "Element 1 "), true)
	equal(c.rows(nil), []string{"there"})
}

func policies(c check) {
	from := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	written := []storage.TableAccessPolicy{
		{ID: "reading", StartTime: from, ExpiryTime: from.AddDate(20, 0, 0), CanRead: true},
		{ID: "all of it", StartTime: from, ExpiryTime: from.AddDate(20, 0, 0), CanRead: true, CanAppend: true,
			CanUpdate: true, CanDelete: true},
	}
	must(c.table.SetPermissions(written, timeout, nil))
	read, err := c.table.GetPermissions(timeout, nil)
	must(err)
	equal(read, written)
}

// Only the account's signature is in this client.
func sharedAccess(c check) {
	c.insert("p", "r", nil)
	full := newClient("SharedKey")
	options := storage.AccountSASTokenOptions{APIVersion: storage.DefaultAPIVersion, Expiry: time.Now().Add(time.Hour)}
	options.Services.Table = true
	options.ResourceTypes.Object = true
	options.Permissions.Read = true
	token, err := full.GetAccountSASToken(options)
	must(err)
	account, err := url.Parse(os.Getenv("ENTITABLE_URL"))
	must(err)
	endpoint := fmt.Sprintf("http://%s.table.core.windows.net:%s", os.Getenv("ENTITABLE_ACCOUNT"), account.Port())
	reader, err := storage.NewAccountSASClientFromEndpointToken(endpoint, token.Encode())
	must(err)
	redirect(&reader, account.Host)
	service := reader.GetTableService()
	table := service.GetTableReference(c.table.Name)
	found, err := table.QueryEntities(timeout, storage.FullMetadata, nil)
	must(err)
	equal(rowKeys(found), []string{"r"})
	refused(table.GetEntityReference("p", "r").Delete(true, nil), 403, "AuthorizationPermissionMismatch")
}

func properties(c check) {
	days, on := 7, true
	written := storage.ServiceProperties{
		Logging: &storage.Logging{Version: "1.0", Read: true,
			RetentionPolicy: &storage.RetentionPolicy{Enabled: true, Days: &days}},
		HourMetrics: &storage.Metrics{Version: "1.0", Enabled: true, IncludeAPIs: &on,
			RetentionPolicy: &storage.RetentionPolicy{}},
		MinuteMetrics: &storage.Metrics{Version: "1.0", RetentionPolicy: &storage.RetentionPolicy{}},
		Cors: &storage.Cors{CorsRule: []storage.CorsRule{{AllowedOrigins: "https://a.example", AllowedMethods: "GET,PUT",
			MaxAgeInSeconds: 60, ExposedHeaders: "x-ms-*", AllowedHeaders: "*"}}},
	}
	must(c.service.SetServiceProperties(written))
	read, err := c.service.GetServiceProperties()
	must(err)
	equal(read.Logging, written.Logging)
	equal(read.HourMetrics, written.HourMetrics)
	equal(read.MinuteMetrics, written.MinuteMetrics)
	equal(read.Cors, written.Cors)
}
