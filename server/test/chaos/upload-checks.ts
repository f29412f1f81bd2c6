import { sweepUploads } from '../../src/features/own-models/uploads/remove-upload.ts'
import { listParts, measurePart } from '../../src/features/own-models/uploads/upload-files.ts'
import type { Services } from '../../src/services.ts'

const hour = 3_600_000

/** Sweeps as an hour later. Throws if a file has no upload afterwards, or an upload lacks bytes. */
export async function sweepAndCheck(deps: Pick<Services, 'db' | 'config' | 'modelStore'>): Promise<void> {
  await sweepUploads({ ...deps, clock: () => new Date(Date.now() + hour) })
  const uploads = await deps.db.selectFrom('model_uploads').selectAll().execute()
  const { modelStore, config } = deps
  const [ids, contents] = await Promise.all([listParts(config.dataDirectory), modelStore.list()])
  const orphans = [
    ...ids.filter((id) => !uploads.some((each) => each.id === id)),
    ...contents.filter((sha256) => !uploads.some((each) => each.sha256 === sha256)),
  ]
  if (orphans.length > 0) throw new Error(`Files without an upload: ${orphans.join(', ')}`)
  for (const { id, status, received, sha256: hash } of uploads) {
    const isPart = status === 'receiving'
    const present = (await (isPart ? measurePart(config.dataDirectory, id) : modelStore.measure(hash!))) ?? 0
    if (isPart && present < received && hash === null)
      throw new Error(`${id} has ${present} of ${received} bytes.`)
    if (!isPart && present !== received) throw new Error(`The file of ${id} is missing.`)
  }
}
