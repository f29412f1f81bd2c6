import { useNavigate } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { ApiError } from '../../../api/client.ts'
import { useCan } from '../../../api/session.ts'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { TextField } from '../../../components/field.tsx'
import { fieldErrors, Form } from '../../../components/form.tsx'
import { Progress } from '../../../components/progress.tsx'
import { ErrorMessage } from '../../../components/states.tsx'
import { useToasts } from '../../../components/toast.tsx'
import type { DeployableModelImportInput } from '../../../contract.ts'
import { useUploadsAllowed } from '../../../domain/installation.ts'
import { formatBytes } from '../../../format.ts'
import { text } from '../../../text/index.ts'
import { BaseModelField } from './base-model-field.tsx'
import { InspectionResult } from './inspection-result.tsx'
import { useImportModel, useInspectModel, useUploads } from './queries.ts'
import { UploadPicker } from './upload-picker.tsx'
import { useFileUpload } from './use-file-upload.ts'
import type { FileUpload } from './use-file-upload.ts'

const words = text.ownModels
/** Errors that a token may resolve */
const tokenCodes: readonly string[] = ['repository_gated', 'repository_not_found']

type Fields = 'huggingface' | 'token' | 'model_name'

/** Previews a repository or file, then adds it to the catalog. Another repository starts over. */
export function AddModelDialog({ onClose }: { onClose: () => void }) {
  const formId = useId()
  const mayImport = useCan()('manageModels')
  const takesUploads = useUploadsAllowed() && mayImport
  const inspect = useInspectModel()
  const { add, addToCatalog } = useAdd()
  const uploads = useUploads(takesUploads)
  const startOver = () => {
    inspect.reset()
    add.reset()
  }
  const { upload, ...controls } = useFileUpload((id) => inspect.mutate({ upload_id: id }))
  const [wantsToken, setWantsToken] = useState(false)
  // Null until the person chooses. An empty choice keeps the field, which has the focus.
  const [base, setBase] = useState<string | null>(null)
  const inspection = inspect.data
  const error = add.error ?? inspect.error
  const asksBase = base !== null || (inspection?.adapter ?? null) !== null
  const submit = ({ huggingface, token, model_name }: Record<Fields, string>) => {
    const name = model_name?.trim()
    const baseModel = base ? { base_model: base } : {}
    if (upload?.id) {
      const request = { upload_id: upload.id, ...baseModel }
      if (inspection === undefined) inspect.mutate(request)
      else addToCatalog({ ...request, model_name: name })
      return
    }
    const request = { huggingface, ...(token ? { token } : {}), ...baseModel }
    if (inspection !== undefined) {
      addToCatalog({ ...request, revision: inspection.commit, model_name: name })
      return
    }
    const onError = (reason: Error) =>
      setWantsToken(wantsToken || (reason instanceof ApiError && tokenCodes.includes(reason.code)))
    inspect.mutate(request, { onError })
  }
  const canAdd = inspection?.variants.some(({ runs, engine }) => runs || engine !== null) ?? false
  const canSubmit = inspection === undefined ? upload === null || upload.id !== null : mayImport && canAdd
  return (
    <Dialog
      onClose={onClose}
      title={words.addTitle}
      description={words.addNote}
      wide
      actions={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          {canSubmit && (
            <Button type="submit" form={formId} variant="primary" busy={inspect.isPending || add.isPending}>
              {inspection === undefined ? words.check : words.import}
            </Button>
          )}
        </>
      }
    >
      <Form<Fields> id={formId} error={error} onSubmit={submit}>
        {upload === null ? (
          <TextField
            label={words.field}
            hint={words.fieldHint}
            name="huggingface"
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            required
            onChange={() => {
              startOver()
              setBase(null)
            }}
            error={fieldErrors(error)['huggingface']}
          />
        ) : (
          <UploadProgress
            upload={upload}
            onPause={controls.pause}
            onResume={controls.resume}
            onCancel={() => {
              startOver()
              setBase(null)
              void controls.cancel().then(() => uploads.refetch())
            }}
          />
        )}
        {wantsToken && upload === null && (
          <TextField
            label={words.token}
            hint={mayImport ? words.tokenHint : words.tokenHintInspect}
            name="token"
            type="password"
            autoComplete="off"
            onChange={startOver}
            error={fieldErrors(error)['token']}
          />
        )}
        {takesUploads && upload === null && inspection === undefined && (
          <UploadPicker
            uploads={uploads.data ?? []}
            onFile={(file) => {
              startOver()
              void controls.start(file, uploads.data ?? [])
            }}
            onContinue={controls.take}
          />
        )}
        {asksBase && (
          <BaseModelField
            value={base ?? ''}
            onChange={(model) => {
              startOver()
              setBase(model)
            }}
            error={fieldErrors(error)['base_model']}
          />
        )}
        <p role="status" className="text-muted empty:hidden">
          {inspect.isPending && words.checking}
        </p>
        {inspection !== undefined && <InspectionResult inspection={inspection} />}
        {inspection !== undefined && canAdd && mayImport && (
          <TextField
            label={words.name}
            hint={words.nameHint}
            name="model_name"
            autoComplete="off"
            spellCheck={false}
            defaultValue={suggestName(upload?.fileName ?? inspection.repository?.split('/')[1] ?? '')}
            error={fieldErrors(error)['model_name']}
          />
        )}
        {inspection !== undefined && canAdd && !mayImport && <p className="text-muted">{words.askAdmin}</p>}
      </Form>
    </Dialog>
  )
}

interface UploadProgressProps {
  upload: FileUpload
  onPause: () => void
  onResume: () => void
  onCancel: () => void
}

/** True if another attempt with the same file would fail too. */
function isRefused(error: Error | null): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500
}

/** How much of a file has arrived, with the controls of its upload. */
function UploadProgress({ upload, onPause, onResume, onCancel }: UploadProgressProps) {
  const { fileName, bytes, sent, status, rate, error } = upload
  return (
    <section aria-label={words.upload} className="grid gap-2 rounded-lg border px-4 py-3">
      <div className="flex flex-wrap items-center gap-2">
        <div className="grid min-w-0 flex-1 gap-0.5">
          <span className="truncate font-medium">{fileName}</span>
          <span className="tabular text-[0.8125rem] text-muted">
            {words.uploadStates[status](
              formatBytes(sent),
              formatBytes(bytes),
              rate === null ? null : formatBytes(rate),
            )}
          </span>
        </div>
        {(status === 'sending' || status === 'waiting') && (
          <Button size="small" onClick={onPause}>
            {words.pause}
          </Button>
        )}
        {(status === 'paused' || (status === 'failed' && !isRefused(error))) && (
          <Button size="small" onClick={onResume}>
            {words.resume}
          </Button>
        )}
        <Button size="small" variant="quiet" onClick={onCancel}>
          {words.otherFile}
        </Button>
      </div>
      <Progress
        value={sent / bytes}
        tone={status === 'failed' ? 'bad' : 'accent'}
        label={words.uploadOf(fileName)}
      />
      <ErrorMessage error={error} />
    </section>
  )
}

/** Adds a model and opens its page. */
function useAdd() {
  const navigate = useNavigate()
  const toasts = useToasts()
  const add = useImportModel()
  const addToCatalog = (body: DeployableModelImportInput) =>
    add.mutate(body, {
      onSuccess: (model) => {
        toasts.success(words.imported(model.display_name))
        void navigate({ to: '/catalog/$modelId', params: { modelId: model.id } })
      },
    })
  return { add, addToCatalog }
}

/** A name in the letters that names may have. */
function suggestName(given: string): string {
  return given
    .replace(/\.gguf$/i, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_.-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/g, '')
    .slice(0, 128)
}
