import { Fragment } from 'react'
import { Dialog } from '../components/dialog.tsx'
import { text } from '../text/index.ts'
import { paletteKeys } from './palette-keys.ts'

const words = text.shortcuts

interface Shortcut {
  /** Combinations with the same or the opposite effect, each of keys that are pressed together */
  keys: readonly (readonly string[])[]
  label: string
}

const groups: readonly { title: string; shortcuts: readonly Shortcut[] }[] = [
  {
    title: words.everywhere,
    shortcuts: [
      { keys: [paletteKeys], label: words.palette },
      { keys: [['?']], label: words.list },
      { keys: [['Esc']], label: words.close },
      { keys: [['←'], ['→']], label: words.tabs },
    ],
  },
  {
    title: words.playground,
    shortcuts: [
      { keys: [['Enter']], label: words.send },
      { keys: [['Shift', 'Enter']], label: words.newLine },
      { keys: [['Esc']], label: words.stop },
    ],
  },
  {
    title: words.charts,
    shortcuts: [
      { keys: [['←'], ['→']], label: words.point },
      { keys: [['Home'], ['End']], label: words.ends },
    ],
  },
]

/** The list of keyboard shortcuts. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title={words.title}>
      <div className="grid gap-5">
        {groups.map(({ title, shortcuts }) => (
          <section key={title} className="grid gap-2">
            <h3 className="text-[0.8125rem] font-medium text-muted">{title}</h3>
            <dl className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-6 gap-y-2">
              {shortcuts.map(({ keys, label }) => (
                <Fragment key={label}>
                  <dt>{label}</dt>
                  <dd className="flex items-center justify-end gap-1 text-muted">
                    {keys.map((combination, place) => (
                      <Fragment key={combination.join(' ')}>
                        {place > 0 && <span className="px-0.5 text-[0.8125rem]">{words.or}</span>}
                        {combination.map((key) => (
                          <kbd
                            key={key}
                            className="min-w-6 rounded border bg-subtle px-1.5 py-0.5 text-center font-sans text-xs text-ink"
                          >
                            {key}
                          </kbd>
                        ))}
                      </Fragment>
                    ))}
                  </dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
