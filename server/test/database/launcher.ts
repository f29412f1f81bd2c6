// Starts the embedded database of the options in its argument, says so on standard output, and stops it at SIGTERM.
import { startEmbeddedDatabase, type EmbeddedDatabaseOptions } from '../../src/database/embedded.ts'

const options = JSON.parse(process.argv[2] ?? '') as Omit<EmbeddedDatabaseOptions, 'log'>
const messages: string[] = []
const say = (report: object) => process.stdout.write(`${JSON.stringify({ messages, ...report })}\n`)

try {
  const database = await startEmbeddedDatabase({ ...options, log: (message) => messages.push(message) })
  process.once('SIGTERM', () => void database.stop().then(() => process.exit(0)))
  say({ url: database.url, adopted: database.adopted })
  setInterval(() => undefined, 60_000)
} catch (error) {
  say({ error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) })
}
