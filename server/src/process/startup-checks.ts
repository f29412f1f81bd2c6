import { access, constants, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { ConfigError } from '../config/config.ts'
import { compareVersions } from '../base/compare-versions.ts'
import type { Config } from '../config/config.ts'

/** Fewer would be used up by the database, the engines' logs and a few dozen callers. */
const leastDescriptors = 1024

/**
 * Tries what the settings name: DATA_DIR, which it creates, the listen addresses and DATABASE_URL. Throws a
 * `ConfigError` with the setting and the remedy of everything that can't be used.
 */
export async function checkEnvironment(config: Config): Promise<void> {
  const { host, port, metricsPort, dataDirectory, databaseUrl } = config
  const listens = config.role === 'all' || config.role === 'api'
  const problems = await Promise.all([
    problemOf(checkDataDirectory(dataDirectory), (error) => describeDirectoryProblem(error, dataDirectory)),
    listens && problemOf(tryListen(host, port), (error) => describeListenProblem(error, host, port, 'PORT')),
    config.role !== 'migrate' &&
      metricsPort !== null &&
      problemOf(tryListen(host, metricsPort), (error) =>
        describeListenProblem(error, host, metricsPort, 'METRICS_PORT'),
      ),
    databaseUrl !== null &&
      problemOf(tryConnect(databaseUrl), (error) => describeDatabaseProblem(error, databaseUrl)),
    findDescriptorProblem(),
    findMissingProgram('LLAMA_SERVER_COMMAND', config.localEngine.llamaServerCommand),
    findMissingProgram('VLLM_COMMAND', config.localEngine.vllmCommand),
  ])
  // PORT and METRICS_PORT fail alike on a HOST that can't be used.
  const found = [...problems, findOldNode(config)]
  const distinct = [...new Set(found.filter((problem) => typeof problem === 'string'))]
  if (distinct.length > 0) throw new ConfigError(distinct)
}

interface SystemError extends Error {
  code?: string
}

async function problemOf(
  attempt: Promise<void>,
  describe: (error: SystemError) => string,
): Promise<string | null> {
  try {
    await attempt
    return null
  } catch (error) {
    // Node tries every address of a name and reports one error for each.
    const first: unknown = error instanceof AggregateError ? error.errors[0] : error
    return describe(first instanceof Error ? first : new Error(String(first)))
  }
}

/** Node's agents send requests through proxies since this version. */
const leastNodeForProxies = '24.5.0'

function findOldNode({ proxy }: Config): string | null {
  const { node } = process.versions
  if (proxy.https === null || compareVersions(node, leastNodeForProxies) >= 0) return null
  return `HTTPS_PROXY: a proxy needs Node ${leastNodeForProxies} or later, and this is ${node}; update Node, or unset HTTP_PROXY and HTTPS_PROXY`
}

/** Node has raised the soft limit to the hard one. Other systems than Linux don't tell. */
async function findDescriptorProblem(): Promise<string | null> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  return describeDescriptorLimit(limits)
}

/** Reads the `limits` of proc(5); null if they allow enough file descriptors. */
function describeDescriptorLimit(limits: string): string | null {
  const limit = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity)
  if (limit >= leastDescriptors) return null
  return `a process may only open ${limit} files here, and Berth needs ${leastDescriptors}; raise the hard limit, for example with \`ulimit -Hn\`, LimitNOFILE or --ulimit nofile`
}

async function findMissingProgram(
  setting: string,
  command: readonly string[] | null,
): Promise<string | null> {
  const [program] = command ?? []
  if (program === undefined) return null
  // The operating system looks up a name without a folder in PATH.
  if (!program.includes('/') || (await isExecutable(program))) return null
  return `${setting}: ${program} is not a program that this user can run; set the full path of an executable file`
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/** Writes a file, because the permission bits say nothing of read-only mounts, quotas and a full disk. */
async function checkDataDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  const probe = join(directory, `write-check-${process.pid}`)
  try {
    await writeFile(probe, 'Berth can write here.\n')
  } finally {
    await rm(probe, { force: true })
  }
}

function describeDirectoryProblem({ code, message }: SystemError, directory: string): string {
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return `DATA_DIR: no space is left on the disk of ${directory} (${code}); free some, or set DATA_DIR to a directory on another disk`
  }
  const remedy = 'set DATA_DIR to a directory that this user can write to, or change its owner or mount'
  return `DATA_DIR: ${directory} is not a writable directory (${message}); ${remedy}`
}

async function tryListen(host: string, port: number): Promise<void> {
  const server = createServer()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen({ host, port }, resolve)
  await promise
  await new Promise((closed) => server.close(closed))
}

function describeListenProblem(
  { code, message }: SystemError,
  host: string,
  port: number,
  setting: 'PORT' | 'METRICS_PORT',
): string {
  switch (code) {
    case 'EADDRINUSE':
      return `${setting}: port ${port} of ${host} is already in use; stop the program that listens there, perhaps another Berth, or set ${setting} to another port`
    case 'EACCES':
      return `${setting}: this user may not listen on port ${port}; set ${setting} to a port above 1023`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST: the name ${host} can't be resolved (${code}); set HOST to an address of this machine such as 127.0.0.1, or 0.0.0.0 for all`
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
      return `HOST: ${host} is not an address of this machine (${code}); set HOST to one that is, such as 127.0.0.1, or 0.0.0.0 for all`
    default:
      return `${setting}: Berth can't listen on port ${port} of ${host} (${message}); set HOST and ${setting} to an address of this machine and a free port`
  }
}

async function tryConnect(databaseUrl: string): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'berth startup check',
    connectionTimeoutMillis: 10_000,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
  } finally {
    await client.end().catch(() => undefined)
  }
}

const certificateCodes = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|ERR_TLS_CERT_)/
const encryptionRemedy =
  'add ?sslmode=verify-full to the URL, and &sslrootcert= with the file of the authority if it is your own'

/** Names host, user and database of the URL, never the password. */
function describeDatabaseProblem(error: SystemError & { path?: string }, databaseUrl: string): string {
  const { code = '', message, path } = error
  // The driver reads the files that the URL names.
  if (path !== undefined && code !== 'ECONNREFUSED' && databaseUrl.includes('ssl')) {
    return `DATABASE_URL: the file ${path} can't be read (${code}); correct sslrootcert, sslcert and sslkey in the URL`
  }
  const { host, port, user, database } = new pg.Client({ connectionString: databaseUrl })
  const server = `PostgreSQL at ${host}:${port}`
  if (certificateCodes.test(code)) {
    return `DATABASE_URL: the certificate of ${server} is not trusted (${message}); ${encryptionRemedy}`
  }
  if (message.includes('no encryption') || message.includes('SSL off')) {
    return `DATABASE_URL: ${server} accepts the user ${user} only with encryption (${message}); ${encryptionRemedy}`
  }
  if (message.includes('does not support SSL')) {
    return `DATABASE_URL: ${server} has no encryption (${message}); switch its ssl on, or set sslmode=disable in the URL`
  }
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `DATABASE_URL: the host name ${host} can't be resolved (${code}); correct the name or the DNS`
    case '28P01':
    case '28000':
      return `DATABASE_URL: ${server} refuses the user ${user} (${message}); correct the user name, the password or pg_hba.conf`
    case '3D000':
      return `DATABASE_URL: ${server} has no database ${database}; create it, or correct the name`
    default:
      return `DATABASE_URL: ${server} can't be reached (${message}); start PostgreSQL, or correct the host and the port`
  }
}
