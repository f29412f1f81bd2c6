import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { control, helm, listObjects, runHelm } from './helm.ts'
import { waitOptions } from './support.ts'

describe.skipIf(helm === undefined)('the chart on a cluster, without pods', () => {
  test('everything that it can have is installed and upgraded, keeps its keys, and leaves nothing', async () => {
    const namespace = `berth-chart-${randomBytes(4).toString('hex')}`
    await control('create', 'namespace', namespace)
    onTestFinished(async () => void (await control('delete', 'namespace', namespace)))
    // Pods would run the hooks.
    const all = 'postgresql.enabled=true,ingress.enabled=true,monitoring.dashboards=true'
    await runHelm('install', namespace, '--no-hooks', '--set', all)
    const readSecrets = () => control('-n', namespace, 'get', 'secret', 'berth-postgresql', '-o', 'json')
    const { data, metadata } = JSON.parse(await readSecrets())
    expect(Object.keys(data).toSorted()).toEqual(['DATABASE_URL', 'POSTGRES_PASSWORD', 'SECRET_KEY'])
    await runHelm('upgrade', namespace, '--no-hooks', '--reuse-values', '--set', 'settings.LOG_LEVEL=debug')
    const after = JSON.parse(await readSecrets())
    expect(after).toMatchObject({ data, metadata: { uid: metadata.uid } })
    const configMap = await control('-n', namespace, 'get', 'configmap', 'berth-settings', '-o', 'json')
    expect(JSON.parse(configMap).data).toMatchObject({ LOG_LEVEL: 'debug', KUBERNETES_NAMESPACE: namespace })

    await runHelm('uninstall', namespace, '--no-hooks')
    await vi.waitFor(async () => expect(await listObjects(namespace)).toEqual([]), waitOptions)
  })
})
