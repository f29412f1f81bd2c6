import { useId } from 'react'
import type { DeployableModel } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { TextArea, TextField } from '../../../components/field.tsx'
import { fieldErrors, Form } from '../../../components/form.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { text } from '../../../text/index.ts'
import { useUpdateModel } from './queries.ts'

const words = text.ownModels

type Fields = 'display_name' | 'description' | 'tags'

/** Edits how a model of the organization is presented. */
export function EditModelDialog({ model, onClose }: { model: DeployableModel; onClose: () => void }) {
  const formId = useId()
  const change = useUpdateModel(model.id)
  const toasts = useToasts()
  const submit = ({ display_name, description, tags }: Record<Fields, string>) => {
    const list = tags.split(',').map((tag) => tag.trim())
    const body = {
      display_name,
      description,
      tags: [...new Set(list)].filter((tag) => tag !== ''),
    }
    change.mutate(body, {
      onSuccess: () => {
        toasts.success(text.common.saved)
        onClose()
      },
    })
  }
  const errors = fieldErrors(change.error)
  return (
    <Dialog
      onClose={onClose}
      title={words.editTitle(model.display_name)}
      actions={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button type="submit" form={formId} variant="primary" busy={change.isPending}>
            {text.common.save}
          </Button>
        </>
      }
    >
      <Form<Fields> id={formId} error={change.error} onSubmit={submit}>
        <TextField
          label={words.displayName}
          name="display_name"
          autoComplete="off"
          required
          defaultValue={model.display_name}
          error={errors['display_name']}
        />
        <TextArea
          label={words.description}
          name="description"
          defaultValue={model.description}
          error={errors['description']}
        />
        <TextField
          label={words.tags}
          hint={words.tagsHint}
          name="tags"
          autoComplete="off"
          defaultValue={model.tags.join(', ')}
          error={errors['tags']}
        />
      </Form>
    </Dialog>
  )
}
