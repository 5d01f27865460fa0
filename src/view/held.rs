//! An object as a view hands it out.

use std::ops::Deref;
use std::sync::Arc;

/// An object as a view hands it out: borrowed or shared, and in neither case
/// copied.
///
/// A view in memory lends its `Arc`s ([`Lent`](Held::Lent)); a view over a
/// store behind a lock, or over kube's reflector, hands out `Arc`s
/// ([`Shared`](Held::Shared)); a test may have nothing but plain objects
/// ([`Borrowed`](Held::Borrowed)). Reading goes through `Deref`. A plan that
/// edits an object keeps the object that it began from, for which
/// [`into_arc`](Held::into_arc) copies only a plain one. This enum is complete.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::view::Held;
/// let volume = Arc::new(PersistentVolume::default());
/// let lent: Held<'_, PersistentVolume> = Held::from(&volume);
/// assert_eq!(lent.name(), "");
/// assert!(Arc::ptr_eq(&lent.into_arc(), &volume));
/// ```
#[derive(Debug)]
pub enum Held<'a, T> {
    /// A plain object.
    Borrowed(&'a T),
    /// An object that the view shares, lent.
    Lent(&'a Arc<T>),
    /// An object that the view shares, handed out.
    Shared(Arc<T>),
}

impl<T> Held<'_, T> {
    /// The same object for a shorter time, without another `Arc`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::view::Held;
    /// let held = Held::Shared(Arc::new(PersistentVolume::default()));
    /// // For a function that takes `impl Into<Held<_>>`, while this one is still needed.
    /// assert!(matches!(held.reborrow(), Held::Lent(_)));
    /// assert_eq!(held.name(), "");
    /// ```
    pub fn reborrow(&self) -> Held<'_, T> {
        match self {
            Held::Borrowed(object) => Held::Borrowed(object),
            Held::Lent(object) => Held::Lent(object),
            Held::Shared(object) => Held::Lent(object),
        }
    }
}

impl<T: Clone> Held<'_, T> {
    /// The object, shared. Copies it only if it is plain.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::view::Held;
    /// let plain = PersistentVolume::default();
    /// assert_eq!(*Held::from(&plain).into_arc(), plain); // a copy
    /// let shared = Arc::new(plain);
    /// assert!(Arc::ptr_eq(&Held::Lent(&shared).into_arc(), &shared));
    /// ```
    pub fn into_arc(self) -> Arc<T> {
        match self {
            Held::Borrowed(object) => Arc::new(object.clone()),
            Held::Lent(object) => Arc::clone(object),
            Held::Shared(object) => object,
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Held::Borrowed(object) => object,
            Held::Lent(object) => object,
            Held::Shared(object) => object,
        }
    }
}

impl<T> Clone for Held<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Held::Borrowed(object) => Held::Borrowed(object),
            Held::Lent(object) => Held::Lent(object),
            Held::Shared(object) => Held::Shared(Arc::clone(object)),
        }
    }
}

impl<'a, T> From<&'a T> for Held<'a, T> {
    fn from(object: &'a T) -> Self {
        Held::Borrowed(object)
    }
}

impl<'a, T> From<&'a Arc<T>> for Held<'a, T> {
    fn from(object: &'a Arc<T>) -> Self {
        Held::Lent(object)
    }
}

/// A look at what is held already: what [`ClusterView`](super::ClusterView) gave
/// can be asked about.
impl<'a, T> From<&'a Held<'_, T>> for Held<'a, T> {
    fn from(held: &'a Held<'_, T>) -> Self {
        match held {
            Held::Borrowed(object) => Held::Borrowed(object),
            Held::Lent(object) => Held::Lent(object),
            Held::Shared(object) => Held::Lent(object),
        }
    }
}

impl<T> From<Arc<T>> for Held<'_, T> {
    fn from(object: Arc<T>) -> Self {
        Held::Shared(object)
    }
}
