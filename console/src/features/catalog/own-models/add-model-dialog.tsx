import { useNavigate } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { ApiError } from '../../../api/client.ts'
import { useCan } from '../../../api/session.ts'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { TextField } from '../../../components/field.tsx'
import { fieldErrors, Form } from '../../../components/form.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { text } from '../../../text/index.ts'
import { InspectionResult } from './inspection-result.tsx'
import { useImportModel, useInspectModel } from './queries.ts'

const words = text.ownModels
/** Errors that a token may resolve */
const tokenCodes: readonly string[] = ['repository_gated', 'repository_not_found']

type Fields = 'huggingface' | 'token' | 'model_name'

/** Shows what a repository would give, then adds it to the catalog. A change of the repository starts over. */
export function AddModelDialog({ onClose }: { onClose: () => void }) {
  const formId = useId()
  const navigate = useNavigate()
  const toasts = useToasts()
  const mayImport = useCan()('manageModels')
  const inspect = useInspectModel()
  const add = useImportModel()
  const [wantsToken, setWantsToken] = useState(false)
  const inspection = inspect.data
  const error = add.error ?? inspect.error
  const startOver = () => {
    inspect.reset()
    add.reset()
  }
  const submit = ({ huggingface, token, model_name }: Record<Fields, string>) => {
    const request = { huggingface, ...(token ? { token } : {}) }
    if (inspection === undefined) {
      const onError = (reason: Error) =>
        setWantsToken(wantsToken || (reason instanceof ApiError && tokenCodes.includes(reason.code)))
      inspect.mutate(request, { onError })
      return
    }
    const body = { ...request, revision: inspection.commit, model_name: model_name.trim() }
    add.mutate(body, {
      onSuccess: (model) => {
        toasts.success(words.imported(model.display_name))
        void navigate({ to: '/catalog/$modelId', params: { modelId: model.id } })
      },
    })
  }
  const canAdd = inspection?.variants.some(({ runs, engine }) => runs || engine !== null) ?? false
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={words.addTitle}
      description={words.addNote}
      wide
      actions={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          {(inspection === undefined || (mayImport && canAdd)) && (
            <Button type="submit" form={formId} variant="primary" busy={inspect.isPending || add.isPending}>
              {inspection === undefined ? words.check : words.import}
            </Button>
          )}
        </>
      }
    >
      <Form<Fields> id={formId} error={error} onSubmit={submit}>
        <TextField
          label={words.field}
          hint={words.fieldHint}
          name="huggingface"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          required
          onChange={startOver}
          error={fieldErrors(error)['huggingface']}
        />
        {wantsToken && (
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
            defaultValue={inspection.repository?.split('/')[1]?.toLowerCase()}
            error={fieldErrors(error)['model_name']}
          />
        )}
        {inspection !== undefined && canAdd && !mayImport && <p className="text-muted">{words.askAdmin}</p>}
      </Form>
    </Dialog>
  )
}
