//! The expansion of `#[kernel]`: an entry for the device, a launcher for the host.
//!
//! Both hold the written function, so the host's compiler (and the editor) checks the body too. A
//! kernel that is not generic is one function item on each side, and nothing is added to the names
//! around it. A generic kernel is a generic function on each side; beside it stand the entries, each
//! in a scope in which the parameters are names for their values, and on the host a trait that finds
//! an entry by the values.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, GenericParam, Ident, ItemFn, Visibility};

use crate::arguments::{self, Arguments, Instance};
use crate::signature::{self, Kind, Parameter, source_text, unsafety};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let place = item.clone();
    let function: ItemFn = syn::parse2(item).map_err(|error| not_a_function(place, error))?;
    let arguments = arguments::parse(arguments, &function.sig);
    let (parameters, arguments) = match (signature::parameters(&function), arguments) {
        (Ok(parameters), Ok(arguments)) => (parameters, arguments),
        (Err(mut error), Err(other)) => {
            error.combine(other);
            return Err(error);
        }
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    let kernel = Kernel { function: &function, parameters: &parameters, arguments: &arguments };
    let (device, host) = (kernel.entries(), kernel.host());
    Ok(quote! { #device #host })
}

/// A kernel, taken apart.
#[derive(Clone, Copy)]
pub(crate) struct Kernel<'k> {
    pub(crate) function: &'k ItemFn,
    pub(crate) parameters: &'k [Parameter],
    pub(crate) arguments: &'k Arguments,
}

/// The error for an item that is no function; a function that does not parse keeps its own error.
fn not_a_function(item: TokenStream, error: Error) -> Error {
    match syn::parse2::<syn::Item>(item.clone()) {
        Ok(syn::Item::Fn(_)) | Err(_) => error,
        Ok(_) => Error::new_spanned(
            item,
            "`#[kernel]` goes on a function: `#[kernel] fn name(x: &[f32], mut y: DisjointSlice<f32>) { .. }`",
        ),
    }
}

/// Whether both the entry and the launcher keep an attribute: documentation and conditions.
fn is_kept(attribute: &Attribute) -> bool {
    ["doc", "cfg", "cfg_attr", "deprecated"].iter().any(|name| attribute.path().is_ident(name))
}

/// The part that both sides have.
impl<'k> Kernel<'k> {
    fn name(self) -> &'k Ident {
        &self.function.sig.ident
    }

    /// The name in the PTX; a generic kernel's instances have their values' behind it.
    fn entry_name(self) -> Ident {
        self.arguments.entry(self.name())
    }

    fn kept(self) -> TokenStream {
        let kept = self.function.attrs.iter().filter(|attribute| is_kept(attribute));
        quote! { #(#kept)* }
    }

    /// The written function, less its documentation.
    fn body(self, vis: Option<&Visibility>) -> TokenStream {
        let ItemFn { sig, block, attrs, .. } = self.function;
        let (unsafety, name, generics) = (unsafety(sig), self.name(), &sig.generics);
        let clause = &generics.where_clause;
        let attributes = attrs.iter().filter(|attribute| !attribute.path().is_ident("doc"));
        let parameters = self
            .parameters
            .iter()
            .map(|Parameter { name, mutable, attributes, ty, .. }| quote! { #(#attributes)* #mutable #name: #ty });
        quote! {
            #(#attributes)*
            #[inline(always)]
            #[allow(dead_code, clippy::too_many_arguments, clippy::inline_always, clippy::missing_safety_doc)]
            #vis #unsafety fn #name #generics (#(#parameters),*) #clause #block
        }
    }

    /// That a kernel whose blocks wait for each other says so, by the types of its parameters: items of a scope in which the
    /// kernel's own parameters are known.
    fn cooperation(self) -> TokenStream {
        if self.arguments.is_cooperative() {
            return TokenStream::new();
        }
        let bound = self.parameters.iter().filter_map(|parameter| match &parameter.kind {
            Kind::Bound(ty) | Kind::SharedSlice(ty) | Kind::Grid(ty) => Some(ty),
            Kind::Pointer | Kind::Reference(_) | Kind::Copied | Kind::Shared => None,
        });
        let checks = bound.map(|ty| {
            quote_spanned! { ty.span() =>
                const _: () = ::core::assert!(
                    !<#ty as ::cuda_std::KernelParameter>::COOPERATIVE,
                    "the blocks of a grid can wait for each other only if all of them run at the same time; write \
                     `#[kernel(cooperative)]`"
                );
            }
        });
        quote! { #(#checks)* }
    }

    /// A proof that the body takes what it is passed for any lifetime of a launch, and so keeps nothing beyond it, whatever
    /// its types are called: for each type, since a name does not tell whether it has a lifetime inside. The function must be in scope.
    fn outlived(self) -> TokenStream {
        let (unsafety, types) = (unsafety(&self.function.sig), self.type_parameters());
        let generics = (!types.is_empty()).then(|| quote! { ::<#(#types),*> });
        let doubtful = self.parameters.iter().enumerate().filter_map(|(index, parameter)| {
            let ty = &parameter.ty;
            let value = match &parameter.kind {
                // A slice has the lifetime that the function leaves out.
                Kind::Bound(_) if matches!(ty, syn::Type::Reference(_)) => return None,
                Kind::Bound(_) | Kind::SharedSlice(_) | Kind::Grid(_) => {
                    quote_spanned! { ty.span() => <#ty as ::cuda_std::KernelParameter>::Value<'launch> }
                }
                Kind::Shared => {
                    quote_spanned! { ty.span() => <#ty as ::cuda_std::shared::SharedParameter>::Value<'launch> }
                }
                Kind::Pointer | Kind::Reference(_) | Kind::Copied => return None,
            };
            Some((index, value))
        });
        let proofs = doubtful.map(|(index, value)| {
            let place = self.parameters[index].ty.span();
            let passed = self
                .parameters
                .iter()
                .enumerate()
                .map(|(other, Parameter { ty: written, .. })| {
                    if other == index {
                        value.clone()
                    } else {
                        quote! { #written }
                    }
                });
            let name = Ident::new(&self.name().to_string(), place);
            quote_spanned! { place => #[allow(clippy::type_complexity)] const _: for<'launch> #unsafety fn(#(#passed),*) = #name #generics; }
        });
        quote! { #(#proofs)* }
    }

    /// The `cuda_std::launch::Parameter`s: those that a call binds, and the shared memory.
    fn descriptions(self) -> (Vec<TokenStream>, Vec<TokenStream>) {
        let (mut bound, mut tiles) = (Vec::new(), Vec::new());
        for Parameter { name, ty: written, kind, .. } in self.parameters {
            let (label, text) = (name.to_string(), source_text(written));
            let parameter = quote! { ::cuda_std::Parameter };
            match kind {
                Kind::Shared => tiles.push(quote! { #parameter::tile::<#written>(#label, #text) }),
                Kind::Pointer => {
                    let pointee = match written {
                        syn::Type::Ptr(pointer) => &pointer.elem,
                        other => other,
                    };
                    bound.push(quote! { #parameter::pointer::<#pointee>(#label, #text) });
                }
                Kind::Reference(ty) => bound.push(quote! { #parameter::pointer::<#ty>(#label, #text) }),
                Kind::Copied => bound.push(quote! { #parameter::copied::<#written>(#label, #text) }),
                Kind::Bound(ty) | Kind::SharedSlice(ty) | Kind::Grid(ty) => {
                    bound.push(quote_spanned! { written.span() => <#ty as ::cuda_std::KernelParameter>::PARAMETER.named(#label, #text) });
                }
            }
        }
        (bound, tiles)
    }

    /// The names of the type and const parameters.
    fn type_parameters(self) -> Vec<&'k Ident> {
        let parameters = self.function.sig.generics.params.iter();
        parameters
            .filter_map(|parameter| match parameter {
                GenericParam::Type(parameter) => Some(&parameter.ident),
                GenericParam::Const(parameter) => Some(&parameter.ident),
                GenericParam::Lifetime(_) => None,
            })
            .collect()
    }
}

/// The expansion for the device.
impl Kernel<'_> {
    /// The PTX entries.
    pub(crate) fn entries(self) -> TokenStream {
        if self.is_generic() { self.generic_device() } else { self.device() }
    }

    fn device(self) -> TokenStream {
        let (vis, kept) = (&self.function.vis, self.kept());
        let entry = self.entry(self.name(), &self.entry_name(), &quote! { #kept }, &quote! { #vis }, &self.body(None));
        quote! {
            #[cfg(target_arch = "nvptx64")]
            #entry
        }
    }

    /// The generic function, for entries to call, and the entries.
    fn generic_device(self) -> TokenStream {
        let (kept, body) = (self.kept(), self.body(Some(&self.function.vis)));
        let conditions = self.conditions();
        let entries = self.arguments.instances.iter().map(|instance| {
            let aliases = instance.aliases();
            let name = instance.entry(&self.entry_name());
            let entry = self.entry(&name, &name, &TokenStream::new(), &TokenStream::new(), &TokenStream::new());
            quote! {
                #[cfg(target_arch = "nvptx64")]
                #conditions
                const _: () = {
                    #aliases
                    #entry
                };
            }
        });
        quote! {
            #[cfg(target_arch = "nvptx64")]
            #kept
            #body
            #(#entries)*
        }
    }

    /// The conditions under which the kernel is compiled, for items beside it.
    pub(crate) fn conditions(self) -> TokenStream {
        let conditions = self.function.attrs.iter().filter(|attribute| {
            let path = attribute.path();
            path.is_ident("cfg") || path.is_ident("cfg_attr")
        });
        quote! { #(#conditions)* }
    }

    /// The function `item` that is the PTX entry `entry`: each parameter as the PTX parameters it is made of, put together again.
    fn entry(
        self,
        item: &Ident,
        entry: &Ident,
        attributes: &TokenStream,
        vis: &TokenStream,
        body: &TokenStream,
    ) -> TokenStream {
        let name = self.name();
        let mut inputs = Vec::new();
        let mut statics = Vec::new();
        let mut values = Vec::new();
        let (mut barriers, mut copies, mut roles, mut clusters) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut places, mut leaves) = (Vec::new(), Vec::new());
        for (index, parameter) in self.parameters.iter().enumerate() {
            let words: Vec<Ident> = ["a", "b", "c", "d"]
                .iter()
                .map(|word| format_ident!("p{index}_{word}", span = Span::mixed_site()))
                .collect();
            let written = &parameter.ty;
            match &parameter.kind {
                Kind::Bound(ty) | Kind::SharedSlice(ty) | Kind::Grid(ty) => {
                    let is_dependent = self.arguments.is_dependent();
                    for (word, part) in words.iter().zip(["A", "B", "C", "D"]) {
                        let part = Ident::new(part, Span::mixed_site());
                        let part = quote! { <#ty as ::cuda_std::KernelParameter>::#part };
                        // A reference promises that its memory does not change while the kernel runs, for which it is loaded by
                        // `ld.global.nc`; the kernel ahead of a dependent one may still write there.
                        inputs.push(match is_dependent {
                            true => quote! { #word: ::core::mem::MaybeUninit<#part> },
                            false => quote! { #word: #part },
                        });
                    }
                    let words = words.iter().map(|word| match is_dependent {
                        true => quote! { #word.assume_init() },
                        false => quote! { #word },
                    });
                    let parameter = quote! { <#ty as ::cuda_std::KernelParameter> };
                    barriers.push(quote! { #parameter::BARRIERS });
                    roles.push(quote! { + #parameter::ROLES });
                    let (value, place) = (
                        format_ident!("p{index}", span = Span::mixed_site()),
                        format_ident!("p{index}_place", span = Span::mixed_site()),
                    );
                    places.push(quote! {
                        // SAFETY: the host's launcher passed these, and checked what they rest on.
                        let #value = unsafe {
                            #parameter::with_registers::<{ __REGISTERS }>(
                                #parameter::with_barrier::<{ __BARRIERS[#index] }>(#parameter::assemble(#(#words),*))
                            )
                        };
                        let #place = #parameter::place(&#value);
                    });
                    values.push(quote! { #value });
                    leaves.push(quote! {
                        // SAFETY: the thread ends.
                        unsafe { #parameter::leave(#place) };
                    });
                }
                Kind::Pointer | Kind::Reference(_) | Kind::Copied => {
                    let word = &words[0];
                    inputs.push(quote! { #word: #written });
                    barriers.push(quote! { 0 });
                    values.push(quote! { #word });
                }
                Kind::Shared => {
                    barriers.push(quote! { 1 });
                    copies.push(quote! { || <#written as ::cuda_std::shared::SharedParameter>::COPIES });
                    clusters.push(quote! { + <#written as ::cuda_std::shared::SharedParameter>::CLUSTERS });
                    let storage = format_ident!(
                        "{}_{}",
                        entry.to_string().to_uppercase(),
                        parameter.name.to_string().to_uppercase(),
                        span = Span::mixed_site()
                    );
                    statics.push(quote! {
                        #[unsafe(link_section = ".shared")]
                        static #storage: ::cuda_std::shared::Storage<
                            <#written as ::cuda_std::shared::SharedParameter>::Memory
                        > = ::cuda_std::shared::Storage::uninit();
                    });
                    let parameter = quote! { <#written as ::cuda_std::shared::SharedParameter> };
                    values.push(quote! { #parameter::assemble::<{ __BARRIERS[#index] }>(&#storage) });
                    leaves.push(quote! {
                        // SAFETY: the thread ends.
                        unsafe { #parameter::leave(&#storage) };
                    });
                }
            }
        }
        let many = barriers.len();
        statics.push(quote! {
            // Barrier 0 is `sync_threads`: see `cuda_std::shared` for why each has its own.
            const __BARRIERS: [::core::primitive::u32; #many] = ::cuda_std::shared::barriers([#(#barriers),*]);
        });
        let contract = self.arguments.contract();
        statics.push(quote! {
            const __REGISTERS: ::core::primitive::u32 = { const __STATED: ::cuda_std::Contract = #contract; __STATED.registers() };
        });
        statics.push(quote! {
            const _: () = ::core::assert!(0 #(#roles)* <= 1, "a kernel divides its blocks into roles once: it has one tensor pipeline");
        });
        statics.push(quote! {
            const __CLUSTERS: ::core::primitive::u32 = 0 #(#clusters)*;
            const _: () = ::core::assert!(
                __CLUSTERS <= 1,
                "the blocks of a cluster have one barrier, so a kernel has one `ClusterShared`: put several tiles into one, as a tuple"
            );
            const _: () = ::core::assert!(
                __CLUSTERS == 0 || 0 #(#roles)* == 0,
                "a tensor pipeline has the barrier of the cluster, which `ClusterShared` needs"
            );
        });
        statics.push(self.cooperation());
        let mut assumptions = TokenStream::new();
        if self.arguments.states_directives() {
            // Where the builder looks for it.
            let symbol = format!("__rumba_contract_{entry}");
            let contract = self.arguments.contract();
            statics.push(quote! {
                const __CONTRACT: ::cuda_std::Contract = #contract;
                #[unsafe(export_name = #symbol)]
                static __WORDS: [::core::primitive::u32; 9] = __CONTRACT.to_words();
            });
            assumptions = quote! {
                // SAFETY: the contract is this kernel's.
                unsafe { __CONTRACT.assume() };
            };
        }
        if !self.arguments.architectures.is_empty() {
            // Where the builder looks for it.
            let symbol = format!("__rumba_arch_{entry}");
            let names: Vec<String> = self.arguments.architectures.iter().map(syn::LitStr::value).collect();
            let names = syn::LitByteStr::new(names.join(" ").as_bytes(), Span::call_site());
            statics.push(quote! {
                #[unsafe(export_name = #symbol)]
                static __ARCHITECTURES: [::core::primitive::u8; #names.len()] = *#names;
            });
        }
        if self.arguments.is_dependent() {
            assumptions.extend(quote! { ::cuda_std::sync::wait_for_prior_kernels(); });
        }
        let outlived = self.outlived();
        let (bound, tiles) = self.descriptions();
        // Where the builder looks for it.
        let symbol = format!("__rumba_kernel_{entry}");
        statics.push(quote! {
            const __DESCRIPTION: ::cuda_std::Description<'static> = ::cuda_std::Description {
                module_path: ::core::module_path!(),
                version: ::core::option_env!("CARGO_PKG_VERSION"),
                contract: #contract,
                parameters: &[#(#bound),*],
                tiles: &[#(#tiles),*],
            };
            #[unsafe(export_name = #symbol)]
            static __TEXT: [::core::primitive::u8; __DESCRIPTION.length()] = __DESCRIPTION.text();
        });
        // Where the builder looks for it.
        let symbol = format!("__rumba_grid_constants_{entry}");
        statics.push(quote! {
            const __GRID_CONSTANTS: ::core::primitive::usize = ::cuda_std::grid_constants::<0>(__DESCRIPTION.parameters).1;
            #[unsafe(export_name = #symbol)]
            static __CONSTANTS: [::core::primitive::u32; __GRID_CONSTANTS] = ::cuda_std::grid_constants(__DESCRIPTION.parameters).0;
        });
        if self.arguments.is_dependent() {
            statics.push(quote! {
                const _: () = ::core::assert!(
                    __GRID_CONSTANTS == 0,
                    "a kernel that is `dependent` takes no tensor maps"
                );
            });
        }
        let parameters = self.type_parameters();
        let generics = (!parameters.is_empty()).then(|| quote! { ::<#(#parameters),*> });
        // Where the builder looks for it.
        let fast_math = self.arguments.fast_math.then(|| quote! { #[unsafe(link_section = ".fast_math")] });
        let exported = entry.to_string();
        quote! {
            ::cuda_std::__entry! {
                #exported
                #attributes
                #fast_math
                #vis fn #item(#(#inputs),*) {
                    #body
                    // In a block of their own: the body, which is an item beside it, does not see these names.
                    {
                        #outlived
                        #(#statics)*
                        #assumptions
                        #(#places)*
                        // SAFETY: as above.
                        unsafe { #name #generics (#(#values),*) };
                        ::cuda_std::shared::leave(__BARRIERS, const { false #(#copies)* });
                        #(#leaves)*
                    }
                }
            }
        }
    }
}

/// The expansion for the host.
impl Kernel<'_> {
    /// The launcher, and what it finds the entry for its types by.
    fn host(self) -> TokenStream {
        let (finder, launcher) = (self.finder_items(), self.launcher());
        quote! { #finder #launcher }
    }

    fn is_generic(self) -> bool {
        !self.function.sig.generics.params.is_empty()
    }

    /// The `&'static Kernel` as an expression, and what a generic function must ask for to use it.
    pub(crate) fn constant(self) -> (TokenStream, TokenStream) {
        let names = self.type_parameters();
        if names.is_empty() {
            let description = self.description(&self.entry_name());
            let constant = quote! {{
                static KERNEL: ::cuda_std::launch::Kernel = #description;
                &KERNEL
            }};
            return (TokenStream::new(), constant);
        }
        let finder = self.finder();
        (quote! { (): #finder<#(#names),*>, }, quote! { <() as #finder<#(#names),*>>::KERNEL })
    }

    /// For a generic kernel: the trait that maps each combination of types to its entry.
    pub(crate) fn finder_items(self) -> TokenStream {
        if !self.is_generic() {
            return TokenStream::new();
        }
        let (vis, finder, conditions) = (&self.function.vis, self.finder(), self.conditions());
        let params = self.function.sig.generics.params.iter().map(|parameter| match parameter {
            GenericParam::Const(parameter) => {
                let (name, ty) = (&parameter.ident, &parameter.ty);
                quote! { const #name: #ty }
            }
            GenericParam::Type(syn::TypeParam { ident, .. }) => quote! { #ident: ?::core::marker::Sized },
            GenericParam::Lifetime(_) => TokenStream::new(),
        });
        let names = self.type_parameters();
        let wanted: Vec<String> = names.iter().map(|name| format!("{name} = {{{name}}}")).collect();
        let message = format!("the kernel `{}` is not compiled for {}", self.name(), wanted.join(", "));
        let compiled: Vec<String> = self.arguments.instances.iter().map(Instance::describe).collect();
        let note = format!("it is compiled for {}", compiled.join("; "));
        let advice =
            format!("what else it is to be compiled for goes into the list in `#[kernel({} = [..])]`", names[0]);
        let instances = self.arguments.instances.iter().map(|instance| {
            let (aliases, description) = (instance.aliases(), self.description(&instance.entry(&self.entry_name())));
            let cooperation = self.cooperation();
            quote! {
                #[cfg(not(target_arch = "nvptx64"))]
                #conditions
                const _: () = {
                    #aliases
                    #cooperation
                    // SAFETY: the entry is that of the kernel for these types.
                    unsafe impl #finder<#(#names),*> for () {
                        const KERNEL: &'static ::cuda_std::launch::Kernel = {
                            static KERNEL: ::cuda_std::launch::Kernel = #description;
                            &KERNEL
                        };
                    }
                };
            }
        });
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            #conditions
            #[doc(hidden)]
            #[allow(non_camel_case_types)]
            #[diagnostic::on_unimplemented(message = #message, label = "not compiled for this", note = #note, note = #advice)]
            #vis unsafe trait #finder<#(#params),*> {
                const KERNEL: &'static ::cuda_std::launch::Kernel;
            }
            #(#instances)*
        }
    }

    /// The trait that has the entries of a generic kernel.
    fn finder(self) -> Ident {
        format_ident!("__{}_entry", self.name())
    }

    /// The launcher: binds each argument, in the order of the PTX parameters.
    fn launcher(self) -> TokenStream {
        let function = self.function;
        let (name, vis, unsafety, kept) = (self.name(), &function.vis, unsafety(&function.sig), self.kept());
        let call = Ident::new("call", Span::mixed_site());
        let (mut inputs, mut binds) = (Vec::new(), Vec::new());
        for Parameter { name, ty: written, kind, .. } in self.parameters {
            let ty = match kind {
                Kind::Shared => continue,
                Kind::Copied => {
                    inputs.push(quote! { #name: #written });
                    // SAFETY: the next parameter is of this type.
                    binds.push(
                        quote_spanned! { written.span() => unsafe { #call.arguments_mut() }.push_copy::<#written>(#name); },
                    );
                    continue;
                }
                Kind::Pointer => quote! { #written },
                Kind::Reference(ty) => quote! { *const #ty },
                Kind::Bound(ty) => {
                    let parameters = self.type_parameters();
                    signature::passed(ty, |name| parameters.contains(&name))
                }
                Kind::SharedSlice(ty) | Kind::Grid(ty) => signature::passed(ty, |_| false),
            };
            let value = if matches!(kind, Kind::Grid(_)) {
                quote! { ::cuda_std::launch::Workspace }
            } else {
                inputs.push(quote! { #name: impl ::cuda_std::launch::Argument<'call, #ty> });
                quote! { #name }
            };
            binds.push(quote! {
                // SAFETY: the next parameter is of this type.
                ::cuda_std::launch::Argument::<'call, #ty>::bind(#value, unsafe { #call.arguments_mut() });
            });
        }
        let params = function.sig.generics.params.iter();
        let predicates = function.sig.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        let (finder, kernel) = self.constant();
        let cooperation = (!self.is_generic()).then(|| self.cooperation());
        let body = self.body(None);
        // The parameters of a generic function are no names for a constant: there the device's compilation finds it.
        let outlived = (!self.is_generic()).then(|| self.outlived());
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            #kept
            #[allow(clippy::too_many_arguments)]
            #vis #unsafety fn #name<'call, #(#params),*>(#(#inputs),*) -> ::cuda_std::launch::Call<'call>
            where
                #finder
                #(#predicates),*
            {
                #body
                #cooperation
                #outlived
                // SAFETY: each parameter of the kernel is bound below, in order and by its type.
                let mut #call = unsafe { ::cuda_std::launch::Call::new(#kernel) };
                #(#binds)*
                #call
            }
        }
    }

    /// The `cuda_std::launch::Kernel`, as a constant expression.
    fn description(self, entry: &Ident) -> TokenStream {
        let (parameters, tiles) = self.descriptions();
        let tiles = (!tiles.is_empty()).then(|| quote! { .with_tiles(&[#(#tiles),*]) });
        let is_unsafe = unsafety(&self.function.sig).map(|_| quote! { .of_unsafe_fn() });
        let label = entry.to_string();
        let line = u32::try_from(self.name().span().unwrap().line()).unwrap_or(0);
        let kernel = quote! {
            ::cuda_std::launch::Kernel::new(
                #label,
                ::core::module_path!(),
                ::core::file!(),
                #line,
                &[#(#parameters),*],
            )
            .of_version(::core::option_env!("CARGO_PKG_VERSION"))
            #is_unsafe
            #tiles
        };
        match self.arguments.place() {
            None => kernel,
            Some(place) => {
                let contract = self.arguments.contract();
                quote_spanned! { place => ::cuda_std::launch::Kernel::with_contract(#kernel, #contract) }
            }
        }
    }
}
