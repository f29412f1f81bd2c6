import { createTestDatabase } from '../../../server/test/support/database.ts'
import { startConsoleServer } from './server.ts'
import type { ConsoleServer } from './server.ts'

/**
 * Starts a server with its own database in the PostgreSQL that all tests share, because starting another
 * takes a second.
 */
export async function startConsoleTestServer(settings: Record<string, string> = {}): Promise<ConsoleServer> {
  const database = await createTestDatabase('migrated')
  try {
    const server = await startConsoleServer({ DATABASE_URL: database.url, ...settings })
    return {
      ...server,
      async close() {
        await server.close()
        await database.drop()
      },
    }
  } catch (error) {
    await database.drop()
    throw error
  }
}
