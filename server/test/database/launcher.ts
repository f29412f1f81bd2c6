// Starts the embedded database with the options in its argument, reports to standard output, and stops the
// database on SIGTERM.
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import type { EmbeddedDatabaseOptions } from '../../src/database/embedded.ts'

const options = JSON.parse(process.argv[2] ?? '') as Omit<EmbeddedDatabaseOptions, 'log'>
const messages: string[] = []
const report = (result: object) => process.stdout.write(`${JSON.stringify({ messages, ...result })}\n`)

try {
  const database = await startEmbeddedDatabase({ ...options, log: (message) => messages.push(message) })
  process.once('SIGTERM', () => void database.stop().then(() => process.exit(0)))
  report({ url: database.url, adopted: database.adopted })
  setInterval(() => undefined, 60_000)
} catch (error) {
  report({ error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) })
}
