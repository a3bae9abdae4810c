// Checked only by the compiler (types.test.ts runs it). entitable/data-tables has the same types
// under the same names as @azure/data-tables, and values of one can be used as values of the other.

import type * as official from "@azure/data-tables";
import type * as ours from "../../web/src/data-tables/index.ts";
import type { Store } from "../../web/src/index.ts";

type Both<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const same = <_T extends true>() => {};

interface Person {
  name: string;
  age: number;
}

// ---- Every type name of the official package ----------------------------------------------------

same<Both<ours.AccessPolicy, official.AccessPolicy>>();
same<Both<ours.AccountSasOptions, official.AccountSasOptions>>();
same<Both<ours.AccountSasPermissions, official.AccountSasPermissions>>();
same<Both<ours.AccountSasServices, official.AccountSasServices>>();
same<Both<ours.CorsRule, official.CorsRule>>();
same<Both<ours.CreateDeleteEntityAction, official.CreateDeleteEntityAction>>();
same<Both<ours.CreateTableEntityResponse, official.CreateTableEntityResponse>>();
same<Both<ours.DeleteTableEntityOptions, official.DeleteTableEntityOptions>>();
same<Both<ours.DeleteTableEntityResponse, official.DeleteTableEntityResponse>>();
same<Both<ours.EdmTypes, official.EdmTypes>>();
same<Both<ours.GeoReplication, official.GeoReplication>>();
same<Both<ours.GeoReplicationStatusType, official.GeoReplicationStatusType>>();
same<Both<ours.GetAccessPolicyResponse, official.GetAccessPolicyResponse>>();
same<Both<ours.GetPropertiesResponse, official.GetPropertiesResponse>>();
same<Both<ours.GetStatisticsResponse, official.GetStatisticsResponse>>();
same<Both<ours.GetTableEntityOptions, official.GetTableEntityOptions>>();
same<Both<ours.ListTableEntitiesOptions, official.ListTableEntitiesOptions>>();
same<Both<ours.ListTableItemsOptions, official.ListTableItemsOptions>>();
same<Both<ours.Logging, official.Logging>>();
same<Both<ours.Metrics, official.Metrics>>();
same<Both<ours.NamedKeyCredential, official.NamedKeyCredential>>();
same<Both<ours.RetentionPolicy, official.RetentionPolicy>>();
same<Both<ours.SasIPRange, official.SasIPRange>>();
same<Both<ours.SasProtocol, official.SasProtocol>>();
same<Both<ours.ServiceGetPropertiesHeaders, official.ServiceGetPropertiesHeaders>>();
same<Both<ours.ServiceGetStatisticsHeaders, official.ServiceGetStatisticsHeaders>>();
same<Both<ours.ServiceProperties, official.ServiceProperties>>();
same<Both<ours.ServiceSetPropertiesHeaders, official.ServiceSetPropertiesHeaders>>();
same<Both<ours.SetAccessPolicyResponse, official.SetAccessPolicyResponse>>();
same<Both<ours.SetPropertiesOptions, official.SetPropertiesOptions>>();
same<Both<ours.SetPropertiesResponse, official.SetPropertiesResponse>>();
same<Both<ours.SignedIdentifier, official.SignedIdentifier>>();
same<Both<ours.TableCreateHeaders, official.TableCreateHeaders>>();
same<Both<ours.TableDeleteEntityHeaders, official.TableDeleteEntityHeaders>>();
same<Both<ours.TableDeleteHeaders, official.TableDeleteHeaders>>();
same<Both<ours.TableEntity, official.TableEntity>>();
same<Both<ours.TableEntityQueryOptions, official.TableEntityQueryOptions>>();
same<Both<ours.TableGetAccessPolicyHeaders, official.TableGetAccessPolicyHeaders>>();
same<Both<ours.TableInsertEntityHeaders, official.TableInsertEntityHeaders>>();
same<Both<ours.TableItem, official.TableItem>>();
same<Both<ours.TableItemResultPage, official.TableItemResultPage>>();
same<Both<ours.TableMergeEntityHeaders, official.TableMergeEntityHeaders>>();
same<Both<ours.TableQueryOptions, official.TableQueryOptions>>();
same<Both<ours.TableQueryResponse, official.TableQueryResponse>>();
same<Both<ours.TableSasPermissions, official.TableSasPermissions>>();
same<Both<ours.TableSasSignatureValues, official.TableSasSignatureValues>>();
same<Both<ours.TableServiceClientOptions, official.TableServiceClientOptions>>();
same<Both<ours.TableServiceStats, official.TableServiceStats>>();
same<Both<ours.TableSetAccessPolicyHeaders, official.TableSetAccessPolicyHeaders>>();
same<Both<ours.TableTransactionEntityResponse, official.TableTransactionEntityResponse>>();
same<Both<ours.TableTransactionResponse, official.TableTransactionResponse>>();
same<Both<ours.TableUpdateEntityHeaders, official.TableUpdateEntityHeaders>>();
same<Both<ours.TransactionAction, official.TransactionAction>>();
same<Both<ours.UpdateEntityAction, official.UpdateEntityAction>>();
same<Both<ours.UpdateEntityResponse, official.UpdateEntityResponse>>();
same<Both<ours.UpdateMode, official.UpdateMode>>();
same<Both<ours.UpdateTableEntityOptions, official.UpdateTableEntityOptions>>();
same<Both<ours.UpsertEntityResponse, official.UpsertEntityResponse>>();
same<Both<ours.Edm<"Int64">, official.Edm<"Int64">>>();
same<Both<ours.GetTableEntityResponse<Person>, official.GetTableEntityResponse<Person>>>();
same<Both<ours.TableEntityResult<Person>, official.TableEntityResult<Person>>>();
same<Both<ours.TableEntityResultPage<Person>, official.TableEntityResultPage<Person>>>();
same<Both<ours.TableTransaction, official.TableTransaction>>();
"live" satisfies ours.KnownGeoReplicationStatusType;

// ---- Every runtime name -------------------------------------------------------------------------

type Runtime = keyof typeof official;
declare const entry: typeof ours;
entry satisfies Record<Runtime, unknown>;
declare const officialEntry: typeof official;
entry.odata satisfies typeof official.odata;
officialEntry.odata satisfies typeof ours.odata;
entry.generateTableSas satisfies typeof official.generateTableSas;
entry.generateAccountSas satisfies typeof official.generateAccountSas;
entry.KnownGeoReplicationStatusType satisfies Record<
  keyof typeof official.KnownGeoReplicationStatusType,
  string
>;

// ---- Clients: code written for the official clients accepts ours --------------------------------

declare const client: ours.TableClient;
declare const service: ours.TableServiceClient;
client satisfies Pick<official.TableClient, keyof official.TableClient>;
service satisfies Pick<official.TableServiceClient, keyof official.TableServiceClient>;

declare const store: Store;
declare const token: { getToken(scopes: string | string[]): Promise<null> };
declare const officialKey: official.AzureNamedKeyCredential;
declare const officialSas: official.AzureSASCredential;
const url = "https://acct.table.core.windows.net";

function constructors(): void {
  const { TableClient, TableServiceClient, AzureNamedKeyCredential } = entry;
  new TableClient(url, "t", token, { retryOptions: { maxRetries: 1 } });
  new TableClient(url, "t", officialKey);
  new TableClient(url, "t", officialSas, { store, errorMessages: "readable", portable: true });
  new TableClient(url, "t", { allowInsecureConnection: true, version: "2020-12-06" });
  new TableServiceClient(url, new AzureNamedKeyCredential("a", "a2V5"), { endpoint: url });
  TableServiceClient.fromConnectionString("UseDevelopmentStorage=true", { store });
  // @ts-expect-error: there are no requests that a transport could send
  new TableClient(url, "t", { httpClient: store.httpClient });
  // @ts-expect-error: no such form of messages
  new TableClient(url, "t", { errorMessages: "text" });
}

async function calls(): Promise<void> {
  const person = await client.getEntity<Person>("p", "r");
  person.age satisfies number;
  for await (const row of client.listEntities<Person>()) row.name satisfies string;
  const identifiers: official.SignedIdentifier[] = await client.getAccessPolicy();
  await client.setAccessPolicy(identifiers);
  const properties: official.ServiceProperties = await service.getProperties();
  await service.setProperties(properties);
  const transaction = new entry.TableTransaction();
  transaction.createEntity({ partitionKey: "p", rowKey: "r", age: entry.edm.double(3) });
  await client.submitTransaction(transaction.actions);
}

void [constructors, calls];
