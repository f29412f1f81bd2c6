import { Tooltip as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

/** A short remark on hover and on focus; nothing may be said in it alone. */
export function Tooltip({ content, children }: { content: ReactNode; children: ReactNode }) {
  return (
    <Primitive.Provider delayDuration={300}>
      <Primitive.Root>
        <Primitive.Trigger asChild>{children}</Primitive.Trigger>
        <Primitive.Portal>
          <Primitive.Content
            sideOffset={6}
            collisionPadding={8}
            className="z-50 max-w-xs rounded-md bg-ink px-2.5 py-1.5 text-xs text-canvas shadow"
          >
            {content}
          </Primitive.Content>
        </Primitive.Portal>
      </Primitive.Root>
    </Primitive.Provider>
  )
}
