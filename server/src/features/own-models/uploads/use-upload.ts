import { v7 as uuidv7 } from 'uuid'
import { ApplicationError, NotFoundError } from '../../../base/errors.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { Services } from '../../../services.ts'
import { recordAction } from '../../audit/record-action.ts'
import { unknownLicense } from '../../catalog/model.ts'
import { requireFreeName } from '../../catalog/own-model-changes.ts'
import type { StoredModel } from '../../catalog/own-model-changes.ts'
import { holdMembership } from '../../organizations/memberships.ts'
import { addModel } from '../add-model.ts'
import { requireBase } from '../build-model.ts'
import { planVariants } from '../inspect.ts'
import type { InspectDeps, Inspection } from '../inspect.ts'
import type { BaseDeps } from '../read-base-shapes.ts'
import { requireSafeTemplates } from '../require-safe-templates.ts'
import type { RepositoryVariant } from '../repository-reader.ts'
import { toOwnModel } from '../to-model.ts'
import type { VariantOrigin } from '../to-model.ts'
import { finishUpload } from './finish-upload.ts'
import { readUploadedVariant } from './read-header.ts'
import { requireUploads } from './require-uploads.ts'
import { findUpload, withWriteLease } from './write-lease.ts'
import type { ModelUpload } from './write-lease.ts'

type UseDeps = Pick<Services, 'clock' | 'config' | 'runtimes' | 'fileHasher'> & BaseDeps

/** An upload whose file is complete, with the model in it. */
interface CompleteUpload {
  upload: ModelUpload
  variant: RepositoryVariant
  origin: VariantOrigin
}

interface UploadRequest {
  uploadId: string
  modelName: string | undefined
  /** Name or id of the base model of a LoRA; undefined for the one that the file names */
  baseModel: string | undefined
  managedBy: string | null
}

/** Plans an upload's model. Throws `uploads_disabled`, `upload_incomplete` and `runtime_unavailable`. */
export async function inspectUpload(
  deps: InspectDeps,
  organizationId: number,
  { uploadId, baseModel }: Pick<UploadRequest, 'uploadId' | 'baseModel'>,
): Promise<Inspection> {
  const { upload, variant, origin } = await readUpload(deps, organizationId, uploadId)
  const plan = { modelName: upload.file_name, variants: [variant], origin, baseModel }
  return { repository: null, ...(await planVariants(deps, organizationId, plan)) }
}

/** Throws like `inspectUpload`, `model_name_taken`, `base_model_not_found` and `no_runnable_weights`. */
export async function addUploadedModel(
  deps: UseDeps,
  viewer: Viewer,
  { uploadId, modelName: given, baseModel, managedBy }: UploadRequest,
): Promise<StoredModel> {
  const { db, runtimes } = deps
  const { organizationId } = viewer
  const { upload, variant, origin } = await readUpload(deps, organizationId, uploadId)
  const { file_name: fileName, bytes } = upload
  const modelName = given ?? toModelName(fileName)
  await requireFreeName(db, organizationId, modelName)
  await requireSafeTemplates(runtimes, [variant])
  const base = await requireBase(deps, organizationId, [variant], baseModel)
  const head = {
    id: uuidv7(),
    source: { kind: 'upload', fileName, bytes },
    modelName,
    displayName: fileName.replace(/\.gguf$/i, ''),
    provider: 'upload',
    description: `Uploaded as ${fileName}.`,
    license: unknownLicense,
  } as const
  const model = toOwnModel(head, [variant], runtimes.engines, origin, base)
  return db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    const stored = await addModel(transaction, organizationId, model, managedBy)
    const { numUpdatedRows } = await transaction
      .updateTable('model_uploads')
      .set({ status: 'used', model_id: model.id })
      .where('id', '=', uploadId)
      .where('status', '=', 'complete')
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw new NotFoundError('Upload not found.')
    await recordAction(transaction, viewer, 'model.imported', {
      target: { type: 'model', id: model.id, name: modelName },
      details: { ...model.source, sha256: upload.sha256 },
    })
    return stored
  })
}

async function readUpload(deps: UseDeps, organizationId: number, id: string): Promise<CompleteUpload> {
  requireUploads(deps)
  const upload = await findCompleteUpload(deps, organizationId, id)
  const { bytes, file_name: fileName } = upload
  const sha256 = upload.sha256!
  const read = async (start: number, end: number) =>
    Buffer.concat(await (await deps.modelStore.read(sha256, { start, end })).toArray())
  const arrived = { read, fileName, bytes, received: bytes }
  const variant = await readUploadedVariant(arrived, deps.runtimes.engines)
  return {
    upload,
    variant: variant!,
    origin: () => ({ weights: { kind: 'upload', sha256, fileName }, gated: false }),
  }
}

/** Finishes an upload whose last request was cut off. */
async function findCompleteUpload(deps: UseDeps, organizationId: number, id: string): Promise<ModelUpload> {
  const upload = await findUpload(deps, organizationId, id)
  if (upload.status === 'complete') return upload
  if (upload.received < upload.bytes) {
    const message = `The upload has ${upload.received} of ${upload.bytes} bytes. Send the rest first.`
    throw new ApplicationError('upload_incomplete', message)
  }
  await withWriteLease(deps, { organizationId, id }, new AbortController().signal, async (lease) => {
    lease.sync = async () => upload.bytes
    await finishUpload(deps, lease)
  })
  return findUpload(deps, organizationId, id)
}

/** A name from that of the file, in the letters that names may have. */
function toModelName(fileName: string): string {
  const name = fileName
    .replace(/\.gguf$/i, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_.-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '')
  return name.slice(0, 128) || 'uploaded-model'
}
