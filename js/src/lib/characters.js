// In place of `uc.micro`: the engine's own Unicode classes, which markdown-it asks for punctuation and symbols.
export const P = /\p{P}/u;
export const S = /\p{S}/u;
export const Z = /\p{Z}/u;
export const Cc = /\p{Cc}/u;
