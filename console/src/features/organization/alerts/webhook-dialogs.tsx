import type { WebhookWithSecret } from '../../../contract.ts'
import { ConfirmDialog, Dialog } from '../../../components/dialog.tsx'
import { TextField } from '../../../components/field.tsx'
import { fieldErrors, Form } from '../../../components/form.tsx'
import { SecretDialog } from '../../../components/secret-dialog.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { text } from '../../../text/index.ts'
import { useDeleteWebhook, useReplaceSecret, useUpdateWebhook } from './queries.ts'

const words = text.alerts

/** The dialog that is open: an explanation, a form, a question, or a secret that is shown once. */
export type OpenDialog = 'format' | 'url' | 'replace' | 'remove' | { secret: string }

interface WebhookDialogsProps {
  open: OpenDialog
  /** The current URL of the webhook, if there is one */
  url: string | undefined
  /** Opens another dialog, or none. */
  onChange: (open: OpenDialog | null) => void
}

/** The dialogs of the webhook. A new secret opens its dialog even if the person has closed the one before. */
export function WebhookDialogs({ open, url, onChange }: WebhookDialogsProps) {
  const close = () => onChange(null)
  const show = (secret: string) => onChange({ secret })
  if (open === 'format') return <FormatDialog onClose={close} />
  if (open === 'url') return <UrlDialog url={url} onClose={close} onNewSecret={show} />
  if (open === 'replace') return <ReplaceDialog onClose={close} onNewSecret={show} />
  if (open === 'remove') return <RemoveDialog onClose={close} />
  return (
    <SecretDialog
      words={words}
      description={words.copyDescription}
      secret={open.secret}
      label={words.secret}
      onDone={close}
    />
  )
}

/** What a receiver gets, how it verifies that, and how it responds. */
function FormatDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog wide onClose={onClose} title={words.formatTitle}>
      <div className="grid gap-3">
        <p>{words.body}</p>
        <dl className="grid gap-x-6 gap-y-1 sm:grid-cols-[auto_minmax(0,1fr)]">
          {Object.entries(words.types).map(([type, { meaning }]) => (
            <div key={type} className="contents">
              <dt className="font-mono text-[0.8125rem]">{type}</dt>
              <dd className="text-muted">{meaning}</dd>
            </div>
          ))}
        </dl>
        <p>
          {words.signature}{' '}
          <a
            className="font-medium text-accent underline underline-offset-4"
            href="https://www.standardwebhooks.com"
            target="_blank"
            rel="noreferrer"
          >
            {words.libraries}
          </a>
        </p>
        <p>{words.response}</p>
      </div>
    </Dialog>
  )
}

interface ChangeProps {
  onClose: () => void
  onNewSecret: (secret: string) => void
}

function UrlDialog({ url, onClose, onNewSecret }: ChangeProps & { url: string | undefined }) {
  const toasts = useToasts()
  const change = useUpdateWebhook(onNewSecret)
  const finish = ({ secret }: WebhookWithSecret) => {
    if (secret !== null) return
    toasts.success(words.saved)
    onClose()
  }
  return (
    <Dialog
      onClose={onClose}
      title={url === undefined ? words.set : words.change}
      description={words.setDescription}
    >
      <Form<'url'>
        submitLabel={words.save}
        busy={change.isPending}
        error={change.error}
        onSubmit={(values) => change.mutate(values.url.trim(), { onSuccess: finish })}
      >
        <TextField
          label={words.url}
          hint={words.urlHint}
          name="url"
          type="url"
          inputMode="url"
          autoComplete="off"
          placeholder="https://alerts.example.com/berth"
          required
          defaultValue={url}
          error={fieldErrors(change.error).url}
        />
      </Form>
    </Dialog>
  )
}

function ReplaceDialog({ onClose, onNewSecret }: ChangeProps) {
  const replacement = useReplaceSecret(onNewSecret)
  return (
    <ConfirmDialog
      onClose={onClose}
      title={words.replaceTitle}
      description={words.replaceDescription}
      confirmLabel={words.replace}
      busy={replacement.isPending}
      error={replacement.error}
      onConfirm={() => replacement.mutate()}
    />
  )
}

function RemoveDialog({ onClose }: { onClose: () => void }) {
  const removal = useDeleteWebhook()
  const toasts = useToasts()
  const onSuccess = () => {
    toasts.success(words.deleted)
    onClose()
  }
  return (
    <ConfirmDialog
      onClose={onClose}
      title={words.deleteTitle}
      description={words.deleteDescription}
      confirmLabel={words.delete}
      dangerous
      busy={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate(undefined, { onSuccess })}
    />
  )
}
