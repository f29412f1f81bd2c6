import { Dialog } from '../../../components/dialog.tsx'
import { text } from '../../../text/index.ts'

const words = text.alerts

/** What a receiver gets, how it verifies that, and how it responds. */
export function FormatDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open wide onOpenChange={onClose} title={words.formatTitle}>
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
