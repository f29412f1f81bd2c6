import { useQuery } from '@tanstack/react-query'
import { Badge } from '../../components/badge.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Section } from '../../components/page.tsx'
import { text } from '../../text/index.ts'
import { Loaded } from '../../components/loaded.tsx'
import { findingsQuery } from './queries.ts'

const words = text.server

/** What the doctor finds, problems first, with the commands to copy. */
export function FindingsView() {
  return (
    <Loaded frame={{ flush: true }} query={useQuery(findingsQuery)}>
      {({ items }) => (
        <Section flush>
          <ul aria-label={words.views.findings.title} className="divide-y">
            {items.map(({ subject, state, remedy }) => (
              <li key={subject} className="grid gap-1 px-5 py-3.5">
                <div className="flex items-center justify-between gap-4">
                  <h2 className="font-medium first-letter:uppercase">{subject}</h2>
                  <Badge tone={remedy === null ? 'good' : 'warn'}>
                    {remedy === null ? words.fine : words.problem}
                  </Badge>
                </div>
                <p className="wrap-anywhere text-muted">{state}</p>
                {remedy !== null && <Remedy remedy={remedy} />}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </Loaded>
  )
}

/** A sentence whose commands stand between backquotes. */
function Remedy({ remedy }: { remedy: string }) {
  return (
    <p className="wrap-anywhere">
      {remedy.split('`').map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <span
            key={index}
            className="inline-flex max-w-full items-center rounded bg-subtle pl-1.5 align-middle"
          >
            <code className="min-w-0 font-mono text-[0.8125rem]">{part}</code>
            <CopyButton value={part} label={text.common.copy(part)} />
          </span>
        ),
      )}
    </p>
  )
}
