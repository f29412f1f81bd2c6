import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { z } from 'zod'
import { duration, oneOf, webAddress, wholeNumber } from './values.ts'

/** The part of the server that a process runs. */
export type ProcessRole = 'all' | 'api' | 'worker' | 'migrate'

/** A process: its part of the server, its addresses, its files, its database and its log. */
export interface ProcessConfig {
  role: ProcessRole
  host: string
  port: number
  /** The server's public address: its origin is trusted, and links in emails start with it */
  publicUrl: URL
  /** Absolute path of the directory that the server writes to */
  dataDirectory: string
  /** null for an embedded PostgreSQL in `dataDirectory` */
  databaseUrl: string | null
  databasePoolSize: number
  /** Longest time of one database statement */
  databaseTimeoutMilliseconds: number
  /** Number of processes that share `port`; more than 1 only with ROLE=api */
  apiProcesses: number
  /** Time between the shutdown signal, when `/readyz` starts to fail, and the end of accepting requests */
  drainDelayMilliseconds: number
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  /** Port for the metrics and a worker's health checks; null: `port`, in a worker 8081 if that is free */
  metricsPort: number | null
  /** Engine keys are derived from this key. null to generate one and keep it in `dataDirectory`. */
  secretKey: string | null
  /** The key before a change of the SECRET_KEY; null unless it is being changed */
  previousSecretKey: string | null
}

export const processSettings = {
  ROLE: oneOf(['all', 'api', 'worker', 'migrate']).default('all'),
  HOST: z
    .string()
    .trim()
    .min(1, 'must be an address to listen on, such as 127.0.0.1 or ::')
    .default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(8080),
  PUBLIC_URL: webAddress('https://berth.example.com').optional(),
  DATA_DIR: z.string().min(1, 'must be a directory').default('./data'),
  DATABASE_URL: z
    .url({
      protocol: /^postgres(ql)?$/,
      error: 'must be an address such as postgres://user:password@host:5432/berth',
    })
    .optional(),
  DATABASE_POOL_SIZE: wholeNumber(2, 500).default(20),
  API_PROCESSES: z
    .union([oneOf(['auto']), wholeNumber(1, 1024)], 'must be a whole number from 1 to 1024, or auto')
    .default('auto'),
  DRAIN_DELAY: duration({ least: '0s', most: '10m' }).optional(),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  METRICS_PORT: wholeNumber(0, 65_535).optional(),
  SECRET_KEY: z
    .string()
    .min(32, 'must have at least 32 characters; generate a key with `openssl rand -hex 32`')
    .optional(),
  PREVIOUS_SECRET_KEY: z
    .string()
    .min(32, 'must be the SECRET_KEY so far, of at least 32 characters')
    .optional(),
}

type Settings = z.output<z.ZodObject<typeof processSettings>>

/** Adds a problem for each setting that the role lacks. */
export function readProcess(settings: Settings, problems: string[]): ProcessConfig {
  const { ROLE: role, PORT: port, METRICS_PORT: metricsPort, API_PROCESSES: count } = settings
  if (metricsPort === port && port !== 0) {
    problems.push(`METRICS_PORT: must differ from PORT (${port}); choose another port or unset it`)
  }
  if (role !== 'all' && settings.DATABASE_URL === undefined) {
    problems.push(
      `DATABASE_URL: ROLE=${role} requires a shared database; set it to the database of the other processes`,
    )
  }
  if ((role === 'api' || role === 'worker') && settings.SECRET_KEY === undefined) {
    problems.push(`SECRET_KEY: ROLE=${role} requires a shared key; set the same SECRET_KEY for all processes`)
  }
  const processes = count === 'auto' ? availableParallelism() : count
  return {
    role,
    host: settings.HOST,
    port,
    publicUrl: settings.PUBLIC_URL ?? new URL(`http://localhost:${port}`),
    dataDirectory: resolve(settings.DATA_DIR),
    databaseUrl: settings.DATABASE_URL ?? null,
    databasePoolSize: settings.DATABASE_POOL_SIZE,
    databaseTimeoutMilliseconds: 30_000,
    apiProcesses: role === 'api' ? processes : 1,
    // A delay only helps behind a load balancer.
    drainDelayMilliseconds: settings.DRAIN_DELAY ?? (role === 'api' ? 5_000 : 0),
    logLevel: settings.LOG_LEVEL,
    metricsPort: metricsPort ?? null,
    secretKey: settings.SECRET_KEY ?? null,
    previousSecretKey: settings.PREVIOUS_SECRET_KEY ?? null,
  }
}
