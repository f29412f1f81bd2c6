// `apply` gets kill -9 between its changes.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { registerClient } from '../../server/test/support/client.ts'
import { killStep } from '../../server/test/support/kill-step.ts'
import { joinClient } from '../../server/test/support/organizations.ts'
import { startBrokenProxy } from './support/broken-proxy.ts'
import { openShell } from './support/command.ts'
import { startServerWithEngine } from './support/engine.ts'

/** Two states between which every kind of thing is added, changed, replaced and removed. */
const states = (email: string) => [
  {
    name: 'p',
    teams: { A: { members: [email] }, B: {} },
    deployments: {
      one: { model: 'berth-tiny', shared_with: { teams: ['A'] } },
      two: { model: 'berth-tiny' },
      three: { model: 'berth-tiny' },
      four: { alias: 'one', alias_order: 2, model: 'berth-tiny' },
    },
    budgets: {
      deployments: { one: { monthly_limit: 5 } },
      members: { [email]: { monthly_limit: 5 } },
      teams: { A: { monthly_limit: 5 } },
    },
  },
  {
    name: 'p',
    teams: { A: {}, C: { members: [email] } },
    deployments: {
      one: { model: 'berth-tiny', policy: { max_instances: 3 }, shared_with: { teams: ['C'] } },
      two: { model: 'berth-tiny-embedding', shared_with: 'organization' },
      four: { alias: null, model: 'berth-tiny-embedding' },
    },
    budgets: {
      teams: { C: { monthly_limit: 5 } },
      deployments: { two: { monthly_limit: 5 } },
      organization: { monthly_limit: 6 },
    },
  },
]

test(
  'kill -9 of apply before or after a change: the next run converges, and makes nothing twice',
  { timeout: 1_800_000 },
  async () => {
    const served = await startServerWithEngine()
    onTestFinished(() => served.close())
    const client = await registerClient(served.server.url)
    const shell = await openShell({ BERTH_URL: served.server.url }, client)
    onTestFinished(() => shell.close())
    const path = join(shell.configDirectory, 'berth.yaml')
    const bring = async (content: unknown) => {
      await writeFile(path, stringify(content))
      expect(await shell.berth(['apply', '-f', path, '--prune'])).toMatchObject({ code: 0 })
    }
    const colleague = await joinClient(served.server, client, 'member')
    const [first, second] = states(colleague.email)
    let kills = 0
    for (const answered of [false, true]) {
      for (let at = 1; ; at += killStep) {
        await bring(first)
        await writeFile(path, stringify(second))
        let kill = () => {}
        const proxy = await startBrokenProxy(
          () => served.server.url,
          { at, answered },
          () => kill(),
        )
        const own = await openShell({ ...shell.env, BERTH_URL: proxy.url })
        const { child, result } = own.start(['apply', '-f', path, '--prune'])
        kill = () => child.kill('SIGKILL')
        const { signal, code } = await result
        if (signal !== null) kills += 1
        // The same shell, which keeps the keys of what has no answer
        const again = await own.berth(['apply', '-f', path, '--prune'])
        expect(again, `change ${at}: ${again.stderr}`).toMatchObject({ code: 0 })
        await own.close()
        expect(await shell.berth(['diff', '-f', path, '--prune'])).toMatchObject({ code: 0 })
        const { items } = (await client.get('/api/v1/model-deployments?active=true')).body
        const deployments: any[] = items.filter(({ status }: any) => status !== 'terminating')
        expect(deployments).toHaveLength(3)
        expect(
          Object.fromEntries(deployments.map((each) => [each.managed_name, [each.alias, each.model_name]])),
        ).toEqual({
          one: ['one', 'berth-tiny'],
          two: ['two', 'berth-tiny-embedding'],
          four: [null, 'berth-tiny-embedding'],
        })
        if (code === 0) break
      }
    }
    expect(kills).toBeGreaterThan(20 / killStep)
  },
)
