import { useEffect } from 'react'
import { Badge } from '../../../components/badge.tsx'
import { Button } from '../../../components/button.tsx'
import { ConfirmDialog, Dialog } from '../../../components/dialog.tsx'
import { TextArea, TextField } from '../../../components/field.tsx'
import { fieldErrors, Form, listError } from '../../../components/form.tsx'
import { ErrorMessage, SkeletonRows } from '../../../components/states.tsx'
import type { Endpoint, EndpointCheck } from '../../../contract.ts'
import { text } from '../../../text/index.ts'
import { Fact } from '../fact.tsx'
import { useAddEndpoint, useCheckEndpoint, useDeleteEndpoint } from './queries.ts'
import { tones } from './tones.ts'

const words = text.endpoints

/** The open dialog about endpoints. */
export type OpenDialog = { dialog: 'add' } | { dialog: 'added' | 'check' | 'delete'; endpoint: Endpoint }

interface EndpointDialogsProps {
  open: OpenDialog
  /** Opens another dialog, or none. */
  onChange: (open: OpenDialog | null) => void
}

export function EndpointDialogs({ open, onChange }: EndpointDialogsProps) {
  const close = () => onChange(null)
  if (open.dialog === 'add') {
    return <AddDialog onClose={close} onAdded={(endpoint) => onChange({ dialog: 'added', endpoint })} />
  }
  if (open.dialog !== 'delete') {
    return <CheckDialog endpoint={open.endpoint} isChecked={open.dialog === 'added'} onClose={close} />
  }
  return <DeleteDialog endpoint={open.endpoint} onClose={close} />
}

type Field = 'name' | 'base_url' | 'key' | 'models' | 'prices.input' | 'prices.output'

interface AddDialogProps {
  onClose: () => void
  onAdded: (endpoint: Endpoint) => void
}

function AddDialog({ onClose, onAdded }: AddDialogProps) {
  const addition = useAddEndpoint()
  const errors = fieldErrors(addition.error)
  const add = (values: Record<Field, string>) => {
    const names = values.models.split('\n').flatMap((line) => line.trim() || [])
    const [input, output] = [values['prices.input'].trim(), values['prices.output'].trim()]
    addition.mutate(
      {
        name: values.name,
        base_url: values.base_url,
        key: values.key.trim() || null,
        models: names.length === 0 ? null : names.map((name) => ({ name })),
        prices: input === '' && output === '' ? null : { input, output },
      },
      { onSuccess: onAdded },
    )
  }
  return (
    <Dialog onClose={onClose} title={words.add} description={words.addDescription}>
      <Form<Field> submitLabel={words.add} busy={addition.isPending} error={addition.error} onSubmit={add}>
        <TextField
          label={words.name}
          name="name"
          autoComplete="off"
          maxLength={100}
          required
          error={errors.name}
        />
        <TextField
          label={words.address}
          hint={words.addressHint}
          name="base_url"
          type="url"
          inputMode="url"
          autoComplete="off"
          placeholder="https://llm.example.com/v1"
          required
          error={errors.base_url}
        />
        <TextField
          label={words.key}
          hint={words.keyHint}
          name="key"
          type="password"
          autoComplete="off"
          error={errors.key}
        />
        <TextArea
          label={words.models}
          hint={words.modelsHint}
          name="models"
          error={listError(addition.error, 'models')}
        />
        <div className="grid items-start gap-4 sm:grid-cols-2">
          <TextField
            label={words.inputPrice}
            hint={words.inputPriceHint}
            name="prices.input"
            inputMode="decimal"
            autoComplete="off"
            error={errors['prices.input']}
          />
          <TextField
            label={words.outputPrice}
            hint={words.outputPriceHint}
            name="prices.output"
            inputMode="decimal"
            autoComplete="off"
            error={errors['prices.output']}
          />
        </div>
      </Form>
    </Dialog>
  )
}

interface DialogProps {
  endpoint: Endpoint
  onClose: () => void
}

interface CheckDialogProps extends DialogProps {
  /** The endpoint has just been checked. */
  isChecked: boolean
}

/** Checks the endpoint when it opens, unless it was just checked, and shows what answered. */
function CheckDialog({ endpoint, isChecked, onClose }: CheckDialogProps) {
  const { id, name } = endpoint
  const { mutate, data, error, isPending, isIdle } = useCheckEndpoint()
  useEffect(() => {
    if (!isChecked) mutate(id)
  }, [mutate, id, isChecked])
  return (
    <Dialog
      onClose={onClose}
      title={words.resultOf(name)}
      actions={
        <>
          <Button busy={isPending} onClick={() => mutate(id)}>
            {words.check}
          </Button>
          <Button variant="primary" onClick={onClose}>
            {words.done}
          </Button>
        </>
      }
    >
      <div className="grid gap-3" role="status">
        {isChecked && isIdle ? (
          <Finding endpoint={endpoint} />
        ) : data && !isPending ? (
          <Finding endpoint={data.endpoint} check={data} />
        ) : error ? (
          <ErrorMessage error={error} />
        ) : (
          <>
            <p className="text-muted">{words.checking}</p>
            <SkeletonRows count={1} />
          </>
        )}
      </div>
    </Dialog>
  )
}

/** Without a `check`, only what the endpoint shows of the last one. */
function Finding({ endpoint, check }: { endpoint: Endpoint; check?: EndpointCheck }) {
  const { status, status_message: message, models } = endpoint
  const { listed = models.length, answer } = check ?? {}
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-2">
      <Fact name={words.state}>
        <Badge tone={tones[status]}>{words.states[status]}</Badge>
      </Fact>
      {message !== null && <Fact name={words.problem}>{message}</Fact>}
      <Fact name={words.listed}>{listed === null ? words.noList : words.countOf(listed)}</Fact>
      {answer && (
        <>
          <Fact name={words.answered}>
            {words.answeredBy(answer.model ?? answer.asked, answer.milliseconds)}
          </Fact>
          <Fact name={words.tokens}>
            {answer.input_tokens === null || answer.output_tokens === null
              ? words.notCounted
              : words.tokensOf(answer.input_tokens, answer.output_tokens)}
          </Fact>
        </>
      )}
    </dl>
  )
}

function DeleteDialog({ endpoint: { id, name }, onClose }: DialogProps) {
  const deletion = useDeleteEndpoint()
  return (
    <ConfirmDialog
      onClose={onClose}
      title={words.removeTitle(name)}
      description={words.removeDescription}
      confirmLabel={words.remove}
      dangerous
      busy={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.mutate(id, { onSuccess: onClose })}
    />
  )
}
