import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sha256, uploadFile } from '../../support/tus.ts'
import { startNodeServer } from './server.ts'
import type { NodeServer } from './server.ts'
import { sharePort } from '../../support/share-port.ts'
import type { SharedPort } from '../../support/share-port.ts'
import { catalogDirectory, nodeCommand, openNodeTestBed } from './support.ts'
import type { NodeTestBed } from './support.ts'

describe.skipIf(nodeCommand === undefined)('uploaded models on real nodes', () => {
  let testBed: NodeTestBed
  let shared: SharedPort
  let server: NodeServer
  beforeAll(async () => {
    testBed = await openNodeTestBed()
    const host = new URL(testBed.weights.url).hostname
    shared = await sharePort(host, () => Number(new URL(server.url).port))
    server = await startNodeServer(testBed, { ENGINE_SERVER_URL: `http://${shared.address}` })
  })
  afterAll(async () => {
    await server?.close()
    await shared?.close()
    await testBed?.close()
  })

  test('a pod downloads an uploaded file from the server and answers chats', async () => {
    const bytes = await readFile(join(catalogDirectory, 'weights/berth-tiny.gguf'))
    const upload_id = await uploadFile(server.client, bytes)
    const added = await server.client.post('/api/v1/deployable-models', { upload_id, model_name: 'mine' })
    expect(added.status).toBe(201)
    const { id, instances } = await server.deploy('mine')
    const answer = await server.chat(id, {
      messages: [{ role: 'user', content: 'What is 27 + 15?' }],
      temperature: 0,
      max_tokens: 32,
    })
    expect(answer.body.choices[0].message.content).toContain('42')

    const pod = await testBed.findPod(instances[0]!.id)
    const file = `/var/lib/kubelet/pods/${pod.metadata?.uid}/volumes/kubernetes.io~empty-dir/cache/uploads/*.gguf`
    expect(await testBed.runOnNode(pod.spec?.nodeName ?? '', `sha256sum ${file}`)).toContain(sha256(bytes))
    const { body: logs } = await server.client.get(`/api/v1/model-deployments/${id}/logs`)
    expect(JSON.stringify(logs)).not.toMatch(/:\/\/[^/"]*@/)
    await server.terminate(id)
  })
})
