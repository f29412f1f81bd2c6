/**
 * The Hub's own client against the server that takes the Hub's place in the tests. What it accepts, the real
 * Hub may answer.
 */

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startHubServer } from '../support/hub/hub-server.ts'
import type { HubServer } from '../support/hub/hub-server.ts'
import { commitOf, makeRepositories } from '../support/hub/test-repositories.ts'

const environment = process.env['TEST_HUGGINGFACE_HUB']!
const large = 'Small-Q8_0-00001-of-00002.gguf'

let hub: HubServer
let folder: string
let refusals = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-hub-'))
  hub = await startHubServer(makeRepositories(), {
    tokens: ['hf_secret'],
    renamed: { 'acme/Old': 'acme/Small' },
    intercept(_request, response) {
      if (refusals === 0) return false
      refusals--
      response.writeHead(429, { 'retry-after': '1' }).end()
      return true
    },
  })
})
afterAll(async () => {
  await hub.close()
  await rm(folder, { recursive: true })
})

/** Runs Python with the client and resolves to the JSON that it prints. */
async function run(code: string, token?: string): Promise<unknown> {
  const program = `import json\nfrom huggingface_hub import *\nfrom huggingface_hub.errors import *\napi = HfApi()\n${code}`
  const { stdout } = await promisify(execFile)(join(environment, 'bin/python'), ['-c', program], {
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      HF_HOME: folder,
      HF_ENDPOINT: hub.origin,
      // Xet has its own protocol; clients without it follow the redirect.
      HF_HUB_DISABLE_XET: '1',
      HF_HUB_DISABLE_TELEMETRY: '1',
      ...(token === undefined ? {} : { HF_TOKEN: token }),
    },
  })
  return JSON.parse(stdout) as unknown
}

test('model_info: commit, license, task, and files with sizes', async () => {
  const answer = await run(`
info = api.model_info('acme/Small-GGUF', files_metadata=True)
print(json.dumps([info.id, info.sha, info.card_data.license, info.pipeline_tag, {s.rfilename: s.size for s in info.siblings}]))`)
  const { files } = makeRepositories()['acme/Small-GGUF']!
  const sizes = Object.fromEntries(
    Object.entries(files).map(([name, content]) => [name, (content as Buffer).length]),
  )
  expect(answer).toEqual(['acme/Small-GGUF', commitOf('1'), 'apache-2.0', 'text-generation', sizes])
})

test('hf_hub_download: small files from the hub and large ones from the CDN, whole', async () => {
  for (const name of ['README.md', large]) {
    const path = (await run(`print(json.dumps(hf_hub_download('acme/Small-GGUF', '${name}')))`)) as string
    expect((await readFile(path)).equals(makeRepositories()['acme/Small-GGUF']!.files[name] as Buffer)).toBe(
      true,
    )
  }
  expect(hub.cdnRequests.length).toBeGreaterThan(0)
})

test('get_hf_file_metadata: the size, the checksum and the commit of a file in LFS', async () => {
  const answer = await run(`
m = get_hf_file_metadata(hf_hub_url('acme/Small-GGUF', '${large}'))
print(json.dumps([m.size, len(m.etag), m.commit_hash]))`)
  const { length } = makeRepositories()['acme/Small-GGUF']!.files[large] as Buffer
  expect(answer).toEqual([length, 64, commitOf('1')])
})

test('snapshot_download: a whole repository under its new name', async () => {
  const names = await run(`
import os
print(json.dumps(sorted(os.listdir(snapshot_download('acme/Old')))))`)
  expect(names).toEqual(Object.keys(makeRepositories()['acme/Small']!.files).toSorted())
})

test.each([
  ["hf_hub_download('acme/Absent', 'a')", 'RepositoryNotFoundError'],
  ["hf_hub_download('acme/Private', 'a')", 'RepositoryNotFoundError'],
  ["hf_hub_download('acme/Small', 'absent')", 'RemoteEntryNotFoundError'],
  ["hf_hub_download('acme/Small', 'config.json', revision='absent')", 'RevisionNotFoundError'],
  ["hf_hub_download('acme/Licensed', 'Licensed-Q4_K_M.gguf')", 'GatedRepoError'],
])('%s: %s', async (call, error) => {
  const name = await run(`
try:
    ${call}
except Exception as error:
    print(json.dumps(type(error).__name__))`)
  expect(name).toBe(error)
})

test('a token opens a gated repository', async () => {
  const path = (await run(
    `print(json.dumps(hf_hub_download('acme/Licensed', 'Licensed-Q4_K_M.gguf')))`,
    'hf_secret',
  )) as string
  expect((await readFile(path)).subarray(0, 4).toString()).toBe('GGUF')
})

test('parse_safetensors_file_metadata: the header by ranges', async () => {
  const counts = await run(`
m = api.parse_safetensors_file_metadata('acme/Small', 'model.safetensors')
print(json.dumps(m.parameter_count))`)
  expect(counts).toEqual({ BF16: 1000 * 64 + 64 * 64 })
})
