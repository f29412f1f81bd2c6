import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { waitForStatus } from '../../support/deployments.ts'
import { waitOptions } from '../cluster/support.ts'
import { startNodeServer } from './server.ts'
import type { NodeServer } from './server.ts'
import { freeze, nodeCommand, openNodeTestBed, thaw } from './support.ts'
import type { NodeTestBed } from './support.ts'

describe.skipIf(nodeCommand === undefined)('losses on real nodes', () => {
  let testBed: NodeTestBed
  let server: NodeServer
  beforeAll(async () => {
    testBed = await openNodeTestBed()
    server = await startNodeServer(testBed)
  })
  afterAll(async () => {
    for (const node of testBed?.nodes ?? []) await testBed.runOnNode(node, thaw).catch(() => {})
    await server?.close()
    await testBed?.close()
  })

  const readSpans = (id: string) =>
    server.application.db
      .selectFrom('instance_spans')
      .select(['started_at', 'ended_at'])
      .where('deployment_id', '=', id)
      .where('voided_at', 'is', null)
      .orderBy('started_at')
      .execute()

  /** Makes the kubelet evict the pod: it fills a volume of the pod beyond its limit. */
  async function overfill(engineId: string) {
    const pod = await testBed.findPod(engineId)
    const volume = `/var/lib/kubelet/pods/${pod.metadata?.uid}/volumes/kubernetes.io~empty-dir/cache`
    await testBed.runOnNode(
      pod.spec?.nodeName ?? '',
      `dd if=/dev/zero of=${volume}/fill bs=1M count=80 status=none`,
    )
    return pod
  }

  test('the kubelet evicts a pod: its replacement serves, and the billing has a gap between both', async () => {
    const running = await server.deploy()
    const evicted = await overfill(running.instances[0]!.id)
    const replaced = await server.waitForReplacement(running.id, evicted.metadata?.name ?? '')
    const events = await server.readEvents(running.id)
    expect(events).toMatch(
      /evicted from node \S+: Usage of EmptyDir volume "cache" exceeds the limit "67108864"/,
    )
    const successor = await testBed.findPod(running.instances[0]!.id)
    expect(replaced.instance_id).toBe(successor.metadata?.name)
    expect(replaced.gpu_allocation_id).toMatch(new RegExp(`^${successor.spec?.nodeName}: `))
    const [first, second] = await readSpans(running.id)
    const containerStart = successor.status?.containerStatuses?.[0]?.state?.running?.startedAt
    expect(second).toMatchObject({ started_at: containerStart, ended_at: null })
    expect(first?.ended_at?.getTime()).toBeLessThan(containerStart?.getTime() ?? 0)
    await server.terminate(running.id)
  })

  test('a pod that the kubelet evicts again and again: the deployment names the eviction, and serves in the end', async () => {
    const running = await server.deploy()
    const filling = setInterval(() => void overfill(running.instances[0]!.id).catch(() => {}), 2_000)
    const lost = await waitForStatus(server.client, running.id, 'deploying', 2 * waitOptions.timeout).finally(
      () => clearInterval(filling),
    )
    expect(lost.status_message).toMatch(/evicted from node/)
    await waitForStatus(server.client, running.id, 'running', 2 * waitOptions.timeout)
    await server.terminate(running.id)
  })

  test('the cluster drains a node: the replacement serves, and the events name the reason', async () => {
    const running = await server.deploy()
    const pod = await testBed.findPod(running.instances[0]!.id)
    const { name = '', namespace = '' } = pod.metadata ?? {}
    await testBed.cluster.admin.core.deleteNamespacedPod({ name, namespace })
    await server.waitForReplacement(running.id, name)
    expect(await server.readEvents(running.id)).toContain(`replaced ${name}`)
    await server.terminate(running.id)
  })

  test('a deleted pod is noticed within two seconds', async () => {
    const running = await server.deploy()
    const noticed: number[] = []
    for (let round = 0; round < 3; round += 1) {
      const pod = await testBed.findPod(running.instances[0]!.id)
      const { name = '', namespace = '' } = pod.metadata ?? {}
      const count = async () => (await server.readEvents(running.id)).split('\n').length
      const before = await count()
      await testBed.cluster.admin.core.deleteNamespacedPod({ name, namespace, gracePeriodSeconds: 0 })
      const deletedAt = performance.now()
      await vi.waitFor(async () => expect(await count()).toBeGreaterThan(before), waitOptions)
      noticed.push(Math.round(performance.now() - deletedAt))
      await server.waitForReplacement(running.id, name)
    }
    console.log(`deleted pods were noticed after ${noticed.join(', ')} ms`)
    expect(Math.max(...noticed)).toBeLessThan(2_000)
    await server.terminate(running.id)
  })

  test('a kubelet that stops for less than a minute loses nothing', async () => {
    const running = await server.deploy()
    const pod = await testBed.findPod(running.instances[0]!.id)
    const node = pod.spec?.nodeName ?? ''
    await testBed.runOnNode(node, 'pkill -STOP -x kubelet')
    await vi.waitFor(async () => expect(await isReady(node)).toBe(false), waitOptions)
    await testBed.runOnNode(node, 'pkill -CONT -x kubelet')
    await vi.waitFor(async () => expect(await isReady(node)).toBe(true), waitOptions)
    const same = await server.waitForReplacement(running.id, '')
    expect(same.instance_id).toBe(pod.metadata?.name)
    await server.terminate(running.id)
  })

  test('a node dies: the engine moves to another, and the time without an engine is not billed', async () => {
    const running = await server.deploy()
    const pod = await testBed.findPod(running.instances[0]!.id)
    const node = pod.spec?.nodeName ?? ''
    const frozenAt = Date.now()
    await testBed.runOnNode(node, freeze)
    const replaced = await server.waitForReplacement(running.id, pod.metadata?.name ?? '')
    expect(replaced.gpu_allocation_id).not.toContain(node)
    expect(await server.readEvents(running.id)).toMatch(new RegExp(`because node ${node} stopped responding`))
    const spans = await readSpans(running.id)
    const [first, second] = spans
    // The kubelet renews its heartbeat every 10 seconds, and the cluster reports whole seconds.
    expect(first?.ended_at?.getTime()).toBeLessThan(frozenAt + 12_000)
    const successor = await testBed.findPod(running.instances[0]!.id)
    expect(second?.started_at).toEqual(successor.status?.containerStatuses?.[0]?.state?.running?.startedAt)
    await testBed.runOnNode(node, thaw)
    await vi.waitFor(async () => expect(await isReady(node)).toBe(true), waitOptions)
    await server.terminate(running.id)
    expect(await server.application.runtimes.all[0]!.listEngineIds()).toEqual([])
  })

  async function isReady(name: string): Promise<boolean> {
    const node = await testBed.cluster.admin.core.readNode({ name })
    return node.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
  }
})
