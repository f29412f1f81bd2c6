// The server gets kill -9 while `apply` works: the next run converges, and makes nothing twice.
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { createClient, registerClient } from '../../server/test/support/client.ts'
import { createTestDatabase } from '../../server/test/support/database.ts'
import { killStep } from '../../server/test/support/kill-step.ts'
import { createDataDirectory, spawnServer } from '../../server/test/support/process.ts'
import type { ServerProcess } from '../../server/test/support/process.ts'
import { startBrokenProxy } from './support/broken-proxy.ts'
import { openShell } from './support/command.ts'

test(
  'kill -9 of the server before or after a change: the next run converges',
  { timeout: 1_200_000 },
  async () => {
    await using cleanup = new AsyncDisposableStack()
    const database = await createTestDatabase('migrated')
    cleanup.defer(() => database.drop())
    const dataDirectory = await createDataDirectory()
    cleanup.defer(() => rm(dataDirectory, { recursive: true, force: true }))
    let server: ServerProcess
    let url = ''
    const start = async () => {
      // Without a worker, only the API changes something.
      server = spawnServer({
        DATABASE_URL: database.url,
        DATA_DIR: dataDirectory,
        ROLE: 'api',
        SECRET_KEY: 'k'.repeat(32),
      })
      url = await server.listening
    }
    const kill = async () => {
      server.child.kill('SIGKILL')
      await server.exited
    }
    await start()
    cleanup.defer(kill)
    const person = await registerClient(url)
    let kills = 0
    for (const answered of [false, true]) {
      for (let at = 1; ; at += killStep) {
        const name = `${answered ? 'after' : 'before'}-${at}`
        const content = {
          name,
          teams: { [name]: { members: [person.email] } },
          deployments: {
            [`${name}-one`]: { model: 'berth-tiny', shared_with: { teams: [name] } },
            [`${name}-two`]: { model: 'berth-tiny', policy: { max_instances: 2 } },
          },
          budgets: { deployments: { [`${name}-one`]: { monthly_limit: 5 } } },
        }
        let died: Promise<void> | undefined
        const proxy = await startBrokenProxy(
          () => url,
          { at, answered },
          () => {
            died = kill().then(() => proxy.close())
          },
        )
        const shell = await openShell({ BERTH_URL: proxy.url }, person)
        const path = join(shell.configDirectory, 'berth.yaml')
        await writeFile(path, stringify(content))
        const first = await shell.berth(['apply', '-f', path, '--prune'])
        if (died === undefined) {
          expect(first).toMatchObject({ code: 0 })
          await shell.close()
          break
        }
        await died
        kills += 1
        expect(first, name).toMatchObject({ code: 1, stderr: expect.stringContaining('does not respond') })
        await start()
        const again = await shell.berth(['apply', '-f', path, '--prune'])
        expect(again, `${name}: ${again.stderr}`).toMatchObject({ code: 0 })
        expect(await shell.berth(['diff', '-f', path, '--prune']), name).toMatchObject({
          code: 0,
          stdout: '',
        })
        const client = createClient(url)
        client.setCookie(person.cookie())
        const { items } = (await client.get(`/api/v1/model-deployments?active=true&q=${name}`)).body
        const made = items.filter(({ managed_by: manager }: { managed_by: string }) => manager === name)
        expect(made.map(({ alias }: { alias: string }) => alias).toSorted()).toEqual([
          `${name}-one`,
          `${name}-two`,
        ])
        await shell.close()
      }
    }
    expect(kills).toBeGreaterThan(10 / killStep)
  },
)
