import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import { sendFile } from '../api/send-file.ts'
import type { Context } from '../base/context.ts'
import { CommandError, describeFileError, messageOf, usageError } from '../base/errors.ts'
import { formatBytes } from '../base/format.ts'
import { Progress } from '../base/progress.ts'
import { reportModel } from './import.ts'

/** Uploads a file, or the rest of it, and adds its model to the catalog. */
export async function upload(
  { env, output }: Context,
  path: string,
  { name, base }: { name?: string; base?: string },
): Promise<void> {
  const bytes = await readSize(path)
  const client = await connectClient(env)
  const id = await withProgress(async (show) => {
    const started = await findStarted(client, basename(path), bytes)
    const file = { path, name: basename(path), bytes, sha256: await hash(path, bytes, show) }
    return sendFile(client, file, started, (sent) =>
      show(`Uploading ${file.name} (${formatBytes(bytes)})`, sent / bytes),
    )
  })
  const model = await client
    .call('POST', '/api/v1/deployable-models', {
      body: { upload_id: id, model_name: name, base_model: base },
    })
    .catch((error: unknown) => {
      const again = `The file has arrived: \`berth import ${id} --name NAME\` adds it.`
      throw new CommandError(`${messageOf(error)} ${again}`)
    })
  reportModel(output, model)
}

async function readSize(path: string): Promise<number> {
  const found = await stat(path).catch((error: unknown) => {
    throw usageError(`${path} can't be read: ${describeFileError(error)}.`)
  })
  if (!found.isFile() || found.size === 0) throw usageError(`${path} is not a file with content.`)
  return found.size
}

type Show = (text: string, share: number) => void

async function withProgress<Result>(work: (show: Show) => Promise<Result>): Promise<Result> {
  const progress = new Progress()
  try {
    return await work((text, share) => progress.show(text, share))
  } finally {
    progress.close()
  }
}

/** The file's digest: it shows the server that the rest of an upload is from another file. */
async function hash(path: string, bytes: number, show: Show): Promise<string> {
  const digest = createHash('sha256')
  let read = 0
  for await (const piece of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    digest.update(piece as Buffer)
    read += (piece as Buffer).length
    show(`Reading ${path}`, read / bytes)
  }
  return digest.digest('hex')
}

/** The id of an upload of this file that broke off, or null. */
async function findStarted(client: Client, name: string, bytes: number): Promise<string | null> {
  const uploads = await client.call('GET', '/api/v1/model-uploads')
  const started = uploads.find(
    (one) => one.status === 'receiving' && one.file_name === name && one.bytes === bytes,
  )
  return started?.id ?? null
}
