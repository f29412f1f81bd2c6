import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { waitOptions } from '../cluster/support.ts'
import { startLoad } from './load.ts'
import { startNodeServer } from './server.ts'
import type { NodeServer } from './server.ts'
import { freeze, nodeCommand, openNodeTestBed, thaw } from './support.ts'
import type { NodeTestBed } from './support.ts'

describe.skipIf(nodeCommand === undefined)('instances on real nodes', () => {
  let testBed: NodeTestBed
  let server: NodeServer
  beforeAll(async () => {
    testBed = await openNodeTestBed()
    server = await startNodeServer(testBed, {}, undefined, { scaleDownMilliseconds: 10_000 })
  })
  afterAll(async () => {
    for (const node of testBed?.nodes ?? []) await testBed.runOnNode(node, thaw).catch(() => {})
    await server?.close()
    await testBed?.close()
  })

  async function waitForInstances(id: string, count: number): Promise<void> {
    await vi.waitFor(async () => {
      const { instances } = await server.read(id)
      const states = instances.map(({ status }: { status: string }) => status)
      expect(states).toEqual(Array(count).fill('running'))
    }, waitOptions)
  }

  const countPods = async () =>
    (await testBed.cluster.admin.core.listNamespacedPod({ namespace: testBed.cluster.namespace })).items
      .length

  test('one instance, then three, then one: no request fails, although a node dies', async () => {
    const { id } = await server.deploy()
    await server.change(id, { max_instances: 3, target_concurrency: 2 })
    const load = startLoad(server, id)
    const began = performance.now()
    const phases: string[] = []
    const mark = (phase: string) =>
      phases.push(`${phase} ${Math.round((performance.now() - began) / 1000)} s`)

    load.setCallers(6)
    await waitForInstances(id, 3)
    mark('three instances')
    const newest = (await server.read(id)).instances.at(-1)
    const pod = await testBed.findPod(newest.id)
    const node = pod.spec?.nodeName ?? ''
    await testBed.runOnNode(node, freeze)
    mark('a node dies')
    await vi.waitFor(async () => {
      const { instances } = await server.read(id)
      const found = instances.find((each: { id: string }) => each.id === newest.id)
      expect(found?.instance_id).not.toBe(newest.instance_id)
    }, waitOptions)
    mark('its instance runs on another')

    load.stream()
    load.setCallers(2)
    await waitForInstances(id, 1)
    mark('one instance')
    await load.stop()
    console.log(
      `${load.failures.length} of ${load.answered + load.failures.length} requests failed, ` +
        `the longest took ${load.longest} s: ${phases.join(', ')}`,
    )
    expect(load.failures).toEqual([])
    expect(await server.readEvents(id)).toMatch(/because node \S+ stopped responding/)
    await testBed.runOnNode(node, thaw)
    await vi.waitFor(async () => expect(await countPods()).toBe(1), waitOptions)
    await server.terminate(id)
  })
})
