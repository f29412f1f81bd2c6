import { Suspense, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { loadWhenIdle } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { conversation } from './conversation.ts'
import { ParametersDrawer, ParametersForm } from './lazy-parts.ts'
import type { ParameterTexts } from './parameter-texts.ts'
import type { readParameters } from './parameters.ts'
import { useStore } from './store.ts'

/** Parameter errors, and whether they are open: beside the chat on a wide screen, else in a drawer. */
export function useParameters() {
  const texts = useStore(conversation, (state) => state.parameters)
  const errors = useErrors(texts)
  const isWide = useMedia('(min-width: 80rem)')
  const [panelOpen, setPanelOpen] = useState(true)
  const [drawerOpen, setDrawerOpen] = useState(false)
  return {
    errors,
    valid: Object.keys(errors).length === 0,
    isWide,
    shown: isWide ? panelOpen : drawerOpen,
    show: isWide ? setPanelOpen : setDrawerOpen,
  }
}

/** The errors of the fields, once the code that finds them has loaded. */
function useErrors(texts: ParameterTexts) {
  const [read, setRead] = useState<typeof readParameters>()
  useEffect(() => {
    loadWhenIdle(async () => {
      const module = await import('./parameters.ts')
      setRead(() => module.readParameters)
    })
  }, [])
  return useMemo(() => read?.(texts).errors ?? {}, [read, texts])
}

/** Whether a media query matches. */
function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    () => matchMedia(query).matches,
  )
}

export interface ParametersProps {
  parameters: ReturnType<typeof useParameters>
}

/** Says that a parameter is invalid, and shows it on demand. */
export function BadParameters({ parameters: { shown, show } }: ParametersProps) {
  return (
    <p className="text-[0.8125rem] text-bad">
      {text.playground.badParameters}{' '}
      {!shown && (
        <button type="button" className="font-medium underline underline-offset-4" onClick={() => show(true)}>
          {text.playground.showParameters}
        </button>
      )}
    </p>
  )
}

/** The panel or the drawer with the parameters, if it is open. */
export function Parameters({ parameters: { isWide, shown, show, errors } }: ParametersProps) {
  if (!shown) return null
  if (!isWide) {
    return (
      <Suspense>
        <ParametersDrawer onClose={() => show(false)} errors={errors} />
      </Suspense>
    )
  }
  return (
    <aside
      aria-label={text.playground.parameters}
      className="w-72 shrink-0 overflow-y-auto border-l px-5 pt-8 pb-5"
    >
      <h2 className="font-semibold">{text.playground.parameters}</h2>
      <p className="pb-4 text-[0.8125rem] text-muted">{text.playground.parametersHint}</p>
      <Suspense>
        <ParametersForm errors={errors} />
      </Suspense>
    </aside>
  )
}
