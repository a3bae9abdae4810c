// Libraries that keep their data in tables, with types for what the tests call. The test stage
// installs them next to this file, so the compiler cannot read their own types.

import { createRequire } from "node:module";
import type { TableClient } from "@azure/data-tables";

const require = createRequire(import.meta.url);

// ---- @auth/azure-tables-adapter ----------------------------------------------------------------

export interface User {
  id: string;
  name: string;
  email: string;
  emailVerified: Date;
}
export interface Session {
  sessionToken: string;
  userId: string;
  expires: Date;
}
export interface Account {
  provider: string;
  providerAccountId: string;
  type: "oauth";
  userId: string;
  access_token: string;
  expires_at: number;
}
export interface VerificationToken {
  identifier: string;
  token: string;
  expires: Date;
}
type Found<T> = Promise<T | null>;

export interface Adapter {
  createUser(user: Omit<User, "id">): Promise<User>;
  getUser(id: string): Found<User>;
  getUserByEmail(email: string): Found<User>;
  getUserByAccount(account: Pick<Account, "provider" | "providerAccountId">): Found<User>;
  updateUser(user: Partial<User> & { id: string }): Promise<User>;
  deleteUser(id: string): Found<User>;
  linkAccount(account: Account): Found<Account>;
  unlinkAccount(account: Pick<Account, "provider" | "providerAccountId">): Promise<void>;
  createSession(session: Session): Promise<Session>;
  getSessionAndUser(token: string): Found<{ session: Session; user: User }>;
  updateSession(session: Partial<Session> & { sessionToken: string }): Promise<Session>;
  deleteSession(token: string): Found<Session>;
  createVerificationToken(token: VerificationToken): Promise<VerificationToken>;
  useVerificationToken(token: Omit<VerificationToken, "expires">): Found<VerificationToken>;
}

const adapterName: string = "@auth/azure-tables-adapter";

export async function authAdapter(client: TableClient): Promise<Adapter> {
  const { TableStorageAdapter } = (await import(adapterName)) as {
    TableStorageAdapter: (client: TableClient) => Adapter;
  };
  return TableStorageAdapter(client);
}

// ---- @nestjs/azure-database --------------------------------------------------------------------

export interface Repository<T> {
  createTableIfNotExists(table: string): Promise<boolean | null>;
  find(partitionKey: string, rowKey: string): Promise<T | null>;
  findAll(): Promise<T[]>;
  create(entity: T): Promise<object | null>;
  update(partitionKey: string, rowKey: string, entity: Partial<T>): Promise<object | null>;
  delete(partitionKey: string, rowKey: string): Promise<object>;
}

interface DynamicModule {
  module: unknown;
}
interface NestTesting {
  Test: {
    createTestingModule(metadata: { imports: DynamicModule[] }): {
      compile(): Promise<{ get<T>(token: string): T; close(): Promise<void> }>;
    };
  };
}
interface NestDatabase {
  AzureTableStorageModule: {
    forFeature(
      entity: new () => object,
      options: { table: string; createTableIfNotExists: boolean },
    ): DynamicModule;
  };
}

// Returns the repository of the entity as a Nest application injects it. The module reads the
// account from AZURE_STORAGE_CONNECTION_STRING.
export async function nestRepository<T>(
  entity: new () => object,
  table: string,
): Promise<{ repository: Repository<T>; close: () => Promise<void> }> {
  const silent = { log() {}, error() {}, warn() {}, debug() {} };
  require("@nestjs/common").Logger.overrideLogger(silent);
  const { Test }: NestTesting = require("@nestjs/testing");
  const { AzureTableStorageModule: module }: NestDatabase = require("@nestjs/azure-database");
  const application = await Test.createTestingModule({
    imports: [module.forFeature(entity, { table, createTableIfNotExists: true })],
  }).compile();
  const repository = application.get<Repository<T>>(`${entity.name}AzureTableStorageRepository`);
  return { repository, close: () => application.close() };
}

// ---- connect-azuretables -----------------------------------------------------------------------

export interface SessionData {
  cookie: { originalMaxAge: number | null; maxAge?: number };
  [key: string]: unknown;
}
type Done<T = unknown> = (error: unknown, result?: T) => void;

export interface SessionStore {
  set(id: string, data: SessionData, done: Done): void;
  touch(id: string, data: SessionData, done: Done): void;
  get(id: string, done: Done<SessionData>): void;
  destroy(id: string, done: Done): void;
  cleanUp(): void;
}

// Returns a session store. It reads the account from AZURE_STORAGE_CONNECTION_STRING, and creates
// its table. `log` gets a line for each thing that it does. The store does not call cleanUp() by
// itself: its timer would keep the process running.
export function sessionStore(table: string, log: (line: string) => void): SessionStore {
  const session = require("express-session");
  const errorLogger = (line: string) => log(`error: ${line}`);
  return require("connect-azuretables")(session).create({
    table,
    logger: log,
    errorLogger,
    overrideCron: new Date(0), // in the past
  });
}

// ---- azure-table-node --------------------------------------------------------------------------

export type Row = { PartitionKey: string; RowKey: string; __etag?: string; [key: string]: unknown };

export interface TableNodeClient {
  startBatch(): TableNodeBatch;
  generateSAS(table: string, permissions: string, expiry: Date, options?: object): string;
}

export interface TableNodeBatch {
  insertEntity(table: string, row: Row): TableNodeBatch;
  updateEntity(table: string, row: Row, options: { force: true }): TableNodeBatch;
  deleteEntity(table: string, row: Row, options: { force: true }): TableNodeBatch;
  getEntity(table: string, partitionKey: string, rowKey: string): TableNodeBatch;
  commit(done: (error: unknown, results?: unknown[]) => void): void;
}

export interface TableNode {
  createClient(settings: object): TableNodeClient;
  Query: {
    create(
      key: string,
      comparison: string,
      value: unknown,
    ): {
      and(key: string, comparison: string, value: unknown): object;
    };
  };
}

export const tableNode = (): TableNode => require("azure-table-node");

// Calls a method that expects a callback. Resolves to the callback's results, or rejects with its
// error.
export function call<T extends unknown[]>(
  target: object,
  method: string,
  ...words: unknown[]
): Promise<T> {
  return new Promise((resolve, reject) => {
    const done = (error: unknown, ...results: T) => {
      if (error === null || error === undefined) resolve(results);
      else reject(error);
    };
    (target as Record<string, (...words: unknown[]) => void>)[method]?.call(target, ...words, done);
  });
}
