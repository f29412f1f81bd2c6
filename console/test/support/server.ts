import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { simpleParser } from 'mailparser'
import { findFreePort } from '../../../server/src/base/free-port.ts'
import { runAdmin } from '../../../server/test/support/admin.ts'
import { makeBundledRepositories } from '../../../server/test/support/hub/bundled-repository.ts'
import { startHubServer } from '../../../server/test/support/hub/hub-server.ts'
import {
  createDataDirectory,
  findEngineProcesses,
  removeDataDirectory,
  signal,
  spawnServer,
  waitUntil,
} from '../../../server/test/support/process.ts'
import type { ServerProcess } from '../../../server/test/support/process.ts'

/** The timeout of every wait in milliseconds; generous, for busy machines. */
export const waitTimeout = 60_000

/** A server as started by `npm start`, with its own data directory, and a URL that survives restarts. */
export interface ConsoleServer {
  /** The address that the server prints. */
  url: string
  dataDirectory: string
  /** Starts the stopped server, with further settings if given. */
  start(changes?: Record<string, string>): Promise<void>
  /** Stops the server gracefully; its engines keep running. */
  stop(): Promise<void>
  /** Runs a command of `npm run admin`; throws if it fails. */
  admin(...args: string[]): Promise<void>
  /** Sends a signal to every engine. */
  signalEngines(name: NodeJS.Signals): Promise<void>
  /** Waits for an email to the recipient with this text in its subject, and returns the link in it. */
  waitForMailedLink(recipient: string, subject: string): Promise<string>
  /** Stops the server and removes its data directory. */
  close(): Promise<void>
}

/** Starts a server with these settings; otherwise with the defaults of an installation. */
export async function startConsoleServer(settings: Record<string, string> = {}): Promise<ConsoleServer> {
  const port = await findFreePort()
  let url = ''
  const dataDirectory = await createDataDirectory()
  const hub = await startHubServer(makeBundledRepositories())
  let running: ServerProcess | null = null

  const start = async (changes: Record<string, string> = {}) => {
    running = spawnServer({
      DATA_DIR: dataDirectory,
      PORT: String(port),
      HF_ENDPOINT: hub.origin,
      ...settings,
      ...changes,
    })
    url = await running.listening
  }
  const stop = async () => {
    running?.child.kill('SIGTERM')
    await running?.exited
    running = null
  }
  const close = async () => {
    await stop()
    await hub.close()
    await removeDataDirectory(dataDirectory)
  }
  try {
    await start()
  } catch (error) {
    await close()
    throw error
  }
  return {
    url,
    dataDirectory,
    start,
    stop,
    close,
    async admin(...args) {
      const { code, stderr } = await runAdmin({ ...settings, DATA_DIR: dataDirectory }, args)
      if (code !== 0) throw new Error(`admin ${args.join(' ')} failed: ${stderr}`)
    },
    async signalEngines(name) {
      for (const { pid } of await findEngineProcesses(dataDirectory)) signal(pid, name)
    },
    async waitForMailedLink(recipient, subject) {
      let link: string | undefined
      const hasArrived = async () => {
        link = await findMailedLink(join(dataDirectory, 'mail'), recipient, subject)
        return link !== undefined
      }
      await waitUntil(hasArrived, waitTimeout, `an email to ${recipient} about “${subject}”`)
      return link ?? ''
    },
  }
}

/** Finds the newest matching email. File names of emails start with the time, and a link has its own line. */
async function findMailedLink(
  folder: string,
  recipient: string,
  subject: string,
): Promise<string | undefined> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml'))
  for (const name of names.toSorted().toReversed()) {
    const mail = await simpleParser(await readFile(join(folder, name)))
    const addresses = [mail.to ?? []].flat().map(({ text }) => text)
    if (!addresses.includes(recipient) || !mail.subject?.includes(subject)) continue
    return mail.text?.split('\n').find((line) => /^https?:\/\/\S+$/.test(line))
  }
  return undefined
}
