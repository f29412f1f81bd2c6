import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import type { Client } from '../../support/client.ts'
import { waitForStatus } from '../../support/deployments.ts'

const catalog = resolve(import.meta.dirname, '../../../../catalog')
const key = 'llama.context_length'

/** What agents need, in tokens */
export const longContext = 65_536

/**
 * Writes a catalog whose berth-tiny has a context that agents need, into a folder, and returns its path. The
 * weights are those of the bundled model, which was trained on 2,048 tokens: beyond these its text is noise.
 */
export async function writeLongModel(folder: string): Promise<string> {
  const file = await readFile(join(catalog, 'weights/berth-tiny.gguf'))
  // In a GGUF file the value follows its key and four bytes with its type.
  file.writeUInt32LE(longContext, file.indexOf(key) + key.length + 4)
  const weights = join(folder, 'berth-tiny.gguf')
  await writeFile(weights, file)
  return writeCatalog(folder, { 'berth-tiny': weights })
}

/**
 * Writes a catalog of GGUF files by name, which are deployed as the bundled model is but have a long context,
 * and returns its path.
 */
export async function writeCatalog(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  const { models } = parse(await readFile(join(catalog, 'models.yaml'), 'utf8'))
  const tiny = models.find(({ id }: { id: string }) => id === 'berth-tiny')
  const entries = Object.entries(files).map(([name, file]) => {
    const model = structuredClone(tiny)
    model.sizes[0].variants[0].weights = { file }
    return { ...model, id: name, model_name: name, context_length: longContext }
  })
  const path = join(folder, 'models.yaml')
  // JSON is YAML.
  await writeFile(path, JSON.stringify({ models: entries }))
  return path
}

/** Deploys a model with the context that agents need, and returns the id of the deployment that runs. */
export async function deployForAgents(client: Client, model_name: string): Promise<string> {
  const body = { model_name, min_context_tokens: longContext }
  const { id } = (await client.post('/api/v1/model-deployments', body)).body
  await waitForStatus(client, id, 'running', 300_000)
  return id
}
